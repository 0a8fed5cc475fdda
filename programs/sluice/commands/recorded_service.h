#pragma once

#include "autoscaler/core/recording/recorded_input.h"
#include "common/base/result.h"
#include "common/scaling/scaling_spec.h"

#include "programs/sluice/commands/recording_file.h"
#include "programs/sluice/commands/verb.h"
#include "programs/sluice/simulation/times.h"
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace sluice::commands {

/// What a recording tells of its service, for a simulation of one like it.
struct RecordedService {
  autoscaler::ScalingSpec scaling = {};                ///< at its beginning
  autoscaler::GivenScaling given = {};                 ///< what that was resolved from
  std::optional<simulation::Times> service_time = {};  ///< absent: no request ended in it
  std::optional<simulation::Times> start = {};  ///< of replicas; absent: no cold start is in it
};

/// Takes a line; the problem is why the recording cannot be read on.
using LineTaker = std::function<std::optional<std::string>(const std::string& line)>;

/// Gives all lines to `take`. A recording that was cut is read up to there, which is added to
/// `notes`. `path` is for the words.
[[nodiscard]] std::optional<Failure> read_recording(const std::string& path, RecordingLines& lines,
                                                    const LineTaker& take,
                                                    std::vector<std::string>& notes);

/// Reads the whole recording; a failure has exit code 78.
[[nodiscard]] Result<RecordedService, Failure> read_recorded_service(const std::string& path);

}  // namespace sluice::commands
