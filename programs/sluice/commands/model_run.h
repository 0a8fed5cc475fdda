#pragma once

#include "common/base/result.h"
#include "common/time/time_point.h"

#include "load/core/segment.h"
#include "programs/sluice/commands/recorded_service.h"
#include "programs/sluice/commands/scaling_change.h"
#include "programs/sluice/commands/verb.h"
#include "programs/sluice/simulation/world.h"
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace sluice::commands {

/// What `sluice simulate --shape` and `--traffic` are asked, as it was typed.
struct ModelAsked {
  std::string shape;         ///< one of these two is given
  std::string traffic;       ///< `FILE[:FORMAT]`
  std::string service;       ///< of a trace of several; empty: all of it
  std::string service_time;  ///< empty: that of the trace, else of `like`, else 100 ms
  std::string start;         ///< empty: that of `like`, else 1 s
  std::string like;          ///< a recording of a service like it; empty: none
  std::optional<std::int32_t> concurrency;  ///< of a replica; absent: that of `like`, else 0
  std::int32_t queue_depth = 0;
  std::uint64_t seed = 1;
};

/// One decision of a simulated service.
struct ModelRow {
  Duration at{0};  ///< since the start
  std::int32_t ready = 0;
  std::int32_t waiting = 0;  ///< requests, for a replica
  double stable = 0;
  double panic = 0;
  std::int32_t want = 0;
  std::string mode = {};
  std::string bound_by = {};
};

/// A service on the real door and scaler whose replicas are a model, in virtual time. Equal input
/// and seed give equal runs.
class Model {
 public:
  using Watcher = std::function<void(const ModelRow&)>;
  /// Sees each function of a trace of several, when its day is over.
  using FunctionWatcher =
      std::function<void(const std::string& function, const simulation::Outcome& outcome)>;

  [[nodiscard]] static Result<Model, Failure> make(const ModelAsked& asked);

  /// Runs the service with the settings of the recording that it is like, else of a file of
  /// `sluice up` that says nothing, and with `edits`. `watcher` sees each decision; empty: it is
  /// not called.
  [[nodiscard]] Result<simulation::Outcome, Failure> play(const ScalingEdits& edits,
                                                          const Watcher& watcher);

  /// Whether the traffic is of the functions of azure2019, each of which is a service of its own.
  [[nodiscard]] bool of_functions() const { return of_functions_; }

  /// Likewise, each function for itself; the outcome is that of all.
  [[nodiscard]] Result<simulation::Outcome, Failure> play_functions(const ScalingEdits& edits,
                                                                    const FunctionWatcher& watcher);

  /// Sentences on what of the trace was not played.
  [[nodiscard]] const std::vector<std::string>& notes() const { return notes_; }

  /// What the recorded run came to that is simulated; null: traffic and service are not of one
  /// recording.
  [[nodiscard]] const RecordedFigures* recorded() const {
    return again_ ? &like_.figures : nullptr;
  }

 private:
  Model(ModelAsked asked, RecordedService like, simulation::Times start,
        simulation::Times service_time)
      : asked_{std::move(asked)},
        like_{std::move(like)},
        start_{std::move(start)},
        service_time_{std::move(service_time)} {}

  [[nodiscard]] Result<simulation::World, Failure> world(const ScalingEdits& edits) const;
  void repeat_recorded(simulation::World& world) const;
  void note_what_is_left(const simulation::Outcome& outcome, const std::string& skipped);

  ModelAsked asked_;
  RecordedService like_;
  simulation::Times start_;
  simulation::Times service_time_;
  bool of_functions_ = false;
  bool again_ = false;  // the requests are those of the recording that it is like
  std::vector<loadgen::Segment> segments_;
  std::vector<std::string> notes_;
};

}  // namespace sluice::commands
