#include "platform/kubernetes/io/reconcile_loop.h"

#include <utility>

namespace sluice::autoscaler {

ReconcileLoop::ReconcileLoop(Loop& loop, Steps steps)
    : loop_{loop}, steps_{std::move(steps)}, timer_{loop.timer()} {}

void ReconcileLoop::add(const RevisionId& id, TimePoint at) {
  queue_.add(id, at);
  wake(at);
}

void ReconcileLoop::failed(const RevisionId& id) {
  queue_.failed(id, loop_.now());
  if (const auto due = queue_.next_due()) wake(*due);
}

void ReconcileLoop::wake(TimePoint at) {
  if (armed_ && *armed_ <= at) return;
  armed_ = at;
  timer_->at(at, [this] {
    armed_.reset();
    turn();
  });
}

void ReconcileLoop::turn() {
  steps_.confirm();
  for (const RevisionId& id : queue_.take(loop_.now(), kTurn)) steps_.look(id);
  steps_.end();
  if (const auto due = queue_.next_due()) wake(*due);
}

}  // namespace sluice::autoscaler
