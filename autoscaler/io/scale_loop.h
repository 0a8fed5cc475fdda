#pragma once

#include "autoscaler/core/decision/multi_scaler.h"
#include "common/loop/loop.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace sluice::autoscaler {

/// A revision as the loop that scales it uses it.
class ScaledRevision {
 public:
  virtual ~ScaledRevision() = default;
  virtual void on_due(bool evaluate) = 0;  ///< time to scrape, and every other time to evaluate
  virtual void on_wanted() = 0;            ///< requests and no pod that serves: evaluate now
};

/// The one timer of all revisions (autoscaler.md 16.8): it sleeps until the next of them is due.
class ScaleLoop {
 public:
  /// `time` outlives this.
  explicit ScaleLoop(Loop& time) : time_{time}, timer_{time.timer()} {}

  /// `revision` outlives its registration and gets no call before this returns. `ready` are its
  /// ready pods. Absent: the name is taken, or there are too many.
  [[nodiscard]] std::optional<ScalerHandle> add(const RevisionId& id, RevisionScalerSpec spec,
                                                std::int32_t ready, ScaledRevision& revision);

  /// Ends a registration, if it has not ended; the scaler goes to the caller.
  std::unique_ptr<RevisionScaler> remove(ScalerHandle handle);

  /// Of a handle that was added and not removed.
  [[nodiscard]] RevisionScaler& scaler(ScalerHandle handle) const;

  [[nodiscard]] std::optional<ScalerHandle> find(const RevisionId& id) const {
    return scalers_.find(id);
  }

  /// A pushed stat. May call on_wanted().
  void push(const RevisionId& revision, const Stat& stat, std::optional<TimePoint> stamp,
            StatDoor door, std::optional<Duration> newest = {});

  /// Counts a scrape answer that was dropped because its figures cannot be.
  void count_flawed() { scalers_.count_flawed(); }

  [[nodiscard]] const IntakeCounts& counts() const { return scalers_.counts(); }

  [[nodiscard]] std::size_t size() const { return scalers_.size(); }

 private:
  void arm();
  void run_due();

  Loop& time_;
  MultiScaler scalers_;
  std::vector<ScaledRevision*> revisions_;  // by index of the handle
  std::vector<MultiScaler::Due> due_;
  std::unique_ptr<Timer> timer_;
};

}  // namespace sluice::autoscaler
