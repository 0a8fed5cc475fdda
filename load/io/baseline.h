#pragma once

#include "common/base/result.h"

#include "load/core/comparison.h"
#include "load/core/load_plan.h"
#include <optional>
#include <string>

namespace sluice::loadgen {

/// What a run came to beside its baseline.
struct BesideBaseline {
  std::string text;  ///< for a person
  std::string json;  ///< `compare` of the report
  bool worse = false;
};

/// The report that a run is compared with when it has ended.
class Baseline {
 public:
  /// The report that `plan` names. The problem is that it is none, or of another plan: no request
  /// need be sent to know it. What replays of `plan` have is known.
  [[nodiscard]] static Result<Baseline, Problem> open(const LoadPlan& plan);

  /// `report` is the JSON of the run.
  [[nodiscard]] Result<BesideBaseline, Problem> compare(const std::string& report) const;

 private:
  Baseline(ComparedRun run, double tolerance) : run_{std::move(run)}, tolerance_{tolerance} {}

  ComparedRun run_;
  double tolerance_;
};

}  // namespace sluice::loadgen
