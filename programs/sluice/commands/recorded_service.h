#pragma once

#include "autoscaler/core/recording/recorded_input.h"
#include "common/base/ids.h"
#include "common/base/result.h"
#include "common/scaling/scaling_spec.h"

#include "load/core/histogram.h"
#include "programs/sluice/commands/recording_file.h"
#include "programs/sluice/commands/verb.h"
#include "programs/sluice/simulation/times.h"
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace sluice::commands {

/// What a recorded run came to, in the figures of a simulated one.
struct RecordedFigures {
  double replica_seconds = 0;
  std::int32_t most_replicas = 0;
  std::uint64_t cold_starts = 0;
  std::uint64_t panics = 0;
  loadgen::Histogram waits = {};  ///< of requests that a replica took, as simulation::Outcome's
  bool waits_known = true;        ///< false: a program wrote it that did not record them
};

/// So many starts of a recorded service are kept one by one.
inline constexpr std::size_t kFirstStartsMax = 1000;

/// What a recording tells of its service, for a simulation of one like it.
struct RecordedService {
  RevisionId revision = {};
  autoscaler::ScalerStart first = {};                  ///< its beginning
  autoscaler::ScalingSpec scaling = {};                ///< then
  autoscaler::GivenScaling given = {};                 ///< what that was resolved from
  std::optional<simulation::Times> service_time = {};  ///< absent: no request ended in it
  std::optional<simulation::Times> start = {};         ///< of replicas; absent: no start is in it
  std::vector<Duration> first_starts = {};             ///< the first kFirstStartsMax of them
  std::optional<TimePoint> traffic_from = {};          ///< when its first second of requests began
  TimePoint until{};                                   ///< its last line
  RecordedFigures figures = {};
};

/// Reads the whole recording; a failure has exit code 78.
[[nodiscard]] Result<RecordedService, Failure> read_recorded_service(const std::string& path);

}  // namespace sluice::commands
