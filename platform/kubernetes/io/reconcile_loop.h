#pragma once

#include "common/loop/loop.h"

#include "platform/kubernetes/core/work_queue.h"
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>

namespace sluice::autoscaler {

/// When a platform of a cluster looks at its revisions: at each when it is due, at few in one turn
/// of the loop, and never before it has confirmed that they are still its own.
class ReconcileLoop {
 public:
  /// Revisions looked at in one turn of the loop: some milliseconds of work.
  static constexpr std::size_t kTurn = 100;

  struct Steps {
    std::function<void()> confirm;  ///< begins each turn, before anything is written
    std::function<void(const RevisionId&)> look;
    std::function<void()> end = [] {};  ///< of each turn; may start the next one with wake()
  };

  /// `loop` outlives this.
  ReconcileLoop(Loop& loop, Steps steps);

  /// The revision is looked at as soon as there is a turn for it, or `at` that time; before if it
  /// is due before.
  void add(const RevisionId& id) { add(id, loop_.now()); }

  void add(const RevisionId& id, TimePoint at);

  /// A write for it has failed: it is looked at again after a wait (WorkQueue).
  void failed(const RevisionId& id);

  /// The next failure is the first again.
  void succeeded(const RevisionId& id) { queue_.succeeded(id); }

  void forget(const RevisionId& id) { queue_.forget(id); }

  /// There is a turn at that time, whether or not a revision is due.
  void wake(TimePoint at);

  /// A turn now.
  void turn();

  /// Revisions that are to be looked at.
  [[nodiscard]] std::size_t waiting() const { return queue_.size(); }

 private:
  Loop& loop_;
  Steps steps_;
  WorkQueue queue_;
  std::unique_ptr<Timer> timer_;
  std::optional<TimePoint> armed_;
};

}  // namespace sluice::autoscaler
