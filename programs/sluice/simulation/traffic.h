#pragma once

#include "common/base/result.h"

#include "load/core/segment.h"
#include "load/core/trace_arrivals.h"
#include "load/io/trace_file.h"
#include "programs/sluice/simulation/world.h"
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace sluice::simulation {

/// Independent arrivals at the rates of `segments`, those of `sluice load` with this seed. The load
/// lasts as long as they do, a pause at their end included.
[[nodiscard]] Traffic of_shape(std::vector<loadgen::Segment> segments, std::uint64_t seed);

/// The requests of a recorded trace, read while it runs.
class TraceTraffic {
 public:
  /// `service`: of a trace of several, the one whose requests come; empty: all, but of azure2019,
  /// whose functions follow one another in the file, there may be one only.
  [[nodiscard]] static Result<TraceTraffic, Problem> open(const std::string& name,
                                                          std::string service, std::uint64_t seed);

  /// The next request, with what the trace has of how long it took.
  [[nodiscard]] std::optional<NextArrival> next();

  /// Why the traffic ended too early, or had nothing; absent: it did not.
  [[nodiscard]] const std::optional<Problem>& problem() const { return problem_; }

  /// Which lines were not used; empty: all were.
  [[nodiscard]] std::string skipped() const { return loadgen::describe_skipped(file_.facts()); }

 private:
  TraceTraffic(loadgen::TraceFile file, std::string name, std::string service, std::uint64_t seed);

  void read();
  void take(const loadgen::TraceCell& cell);

  loadgen::TraceFile file_;
  std::string name_;
  std::string service_;
  loadgen::TraceArrivals arrivals_;
  std::optional<std::string> first_;  // service that was seen
  bool taken_ = false;                // a cell was
  std::optional<Problem> problem_;
};

}  // namespace sluice::simulation
