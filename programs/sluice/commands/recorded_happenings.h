#pragma once

#include "common/base/result.h"
#include "common/time/time_point.h"

#include <nlohmann/json_fwd.hpp>

#include "programs/sluice/commands/recorded_service.h"
#include "programs/sluice/commands/recording_file.h"
#include "programs/sluice/commands/scaling_change.h"
#include "programs/sluice/simulation/world.h"
#include <deque>
#include <optional>
#include <string>

namespace sluice::commands {

/// What was done to a recorded service, and what happened to it beside its requests, for the same
/// run simulated: read line by line while that runs.
class RecordedHappenings {
 public:
  /// `service` is what was read of the recording at `path`; times count from `begin`. `edits` hold
  /// for settings that change as for those of the beginning.
  [[nodiscard]] static Result<RecordedHappenings, Failure> open(const std::string& path,
                                                                const RecordedService& service,
                                                                TimePoint begin,
                                                                ScalingEdits edits);

  /// The next one; nothing at the end, or where the recording was cut.
  [[nodiscard]] std::optional<simulation::Happening> next();

 private:
  RecordedHappenings(RecordingLines lines, TimePoint begin, autoscaler::ScalingSpec scaling,
                     ScalingEdits edits)
      : lines_{std::move(lines)},
        begin_{begin},
        last_{begin},
        scaling_{std::move(scaling)},
        edits_{std::move(edits)} {}

  void take(const std::string& line);
  void take(const autoscaler::RecordedInput& input);
  void pass(TimePoint at);

  template <class What>
  void add(What what, TimePoint at);

  void add_scaling(const autoscaler::ScalingSpec& scaling, const autoscaler::GivenScaling* given);

  RecordingLines lines_;
  TimePoint begin_;
  TimePoint last_;  // the time that was read last
  autoscaler::ScalingSpec scaling_;
  ScalingEdits edits_;

  struct Pause {
    TimePoint from;
    TimePoint to;
  };

  std::optional<Pause> pause_;  // the last time for which there are no lines
  bool limited_ = false;
  bool ended_ = false;
  std::optional<autoscaler::BoundsInput> bounds_;  // set when the next line was written
  std::deque<simulation::Happening> ready_;
};

}  // namespace sluice::commands
