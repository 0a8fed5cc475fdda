#pragma once

#include "load/core/load_plan.h"
#include "load/core/second_series.h"
#include "load/core/tally.h"
#include <cstddef>
#include <optional>
#include <vector>

namespace sluice::loadgen {

/// A part of a run: the requests of one phase, of one target, or of both; without any, all.
struct Part {
  std::optional<std::size_t> target = {};  ///< its place in the plan
  std::optional<std::size_t> phase = {};

  friend bool operator==(const Part&, const Part&) = default;
};

/// The part that a condition is about. Its target and phase are known to `plan`.
[[nodiscard]] Part part_of(const LoadPlan& plan, const Expression& condition);

/// What came of the requests of a run: of all of them, and of its parts by themselves. A run of one
/// phase or one target has no parts for it. A phase of a target is counted where a condition asks
/// for it: all of them would be too many.
class Results {
 public:
  Results() = default;
  explicit Results(const LoadPlan& plan);

  /// A request was taken up.
  void sent(const PlannedRequest& planned, Duration taken);
  /// The request ended. The planned time is that of `planned`.
  void finished(const PlannedRequest& planned, const Outcome& outcome);
  /// The connection that it needed took this long.
  void connected(const PlannedRequest& planned, Duration taken);
  /// It fell due and was never taken up.
  void unsent(const PlannedRequest& planned);

  /// Adds what another thread counted for the same plan.
  void add(const Results& other);

  /// Of a part that is not counted by itself: all.
  [[nodiscard]] const Tally& of(const Part& part) const;

  Tally whole{Duration::zero()};
  std::vector<Tally> targets;  ///< by target; empty for one
  std::vector<Tally> phases;   ///< by phase; empty for one
  SecondSeries seconds;        ///< by target

 private:
  struct Cell {
    Part part;
    Tally tally;
  };

  template <class Count>
  void each(const PlannedRequest& planned, const Count& count);

  std::vector<Cell> cells_;  // at most as many as the plan has conditions
};

}  // namespace sluice::loadgen
