#pragma once

#include "autoscaler/core/recording/recorded_input.h"
#include "common/base/result.h"
#include "common/scaling/scaling_spec.h"

#include "programs/sluice/commands/recording_file.h"
#include "programs/sluice/commands/verb.h"
#include "programs/sluice/simulation/times.h"
#include <optional>
#include <string>

namespace sluice::commands {

/// What a recording tells of its service, for a simulation of one like it.
struct RecordedService {
  autoscaler::ScalingSpec scaling = {};                ///< at its beginning
  autoscaler::GivenScaling given = {};                 ///< what that was resolved from
  std::optional<simulation::Times> service_time = {};  ///< absent: no request ended in it
  std::optional<simulation::Times> start = {};  ///< of replicas; absent: no cold start is in it
};

/// Reads the whole recording; a failure has exit code 78.
[[nodiscard]] Result<RecordedService, Failure> read_recorded_service(const std::string& path);

}  // namespace sluice::commands
