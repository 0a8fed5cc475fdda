#include "activator/io/due_times.h"

namespace sluice::activator {

DueTimes::DueTimes(Loop& loop, Look look)
    : loop_{loop}, look_{std::move(look)}, timer_{loop.timer()} {}

void DueTimes::set(std::size_t index, std::optional<TimePoint> due) {
  if (index >= times_.size()) times_.resize(index + 1);
  std::optional<TimePoint>& time = times_[index];
  if (due == time) return;
  if (time) order_.erase({*time, index});
  time = due;
  if (!due) return;
  order_.emplace(*due, index);
  arm();
}

void DueTimes::arm() {
  if (order_.empty()) return;
  const TimePoint first = order_.begin()->first;
  if (armed_ && *armed_ <= first) return;
  armed_ = first;
  timer_->at(first, [this] {
    armed_.reset();
    on_due();
    arm();
  });
}

void DueTimes::on_due() {
  const TimePoint now = loop_.now();
  while (!order_.empty() && order_.begin()->first <= now) {
    const std::size_t index = order_.begin()->second;
    set(index, std::nullopt);
    look_(index, now);
    // What is due again at once would keep us here without end.
    if (times_[index] && *times_[index] <= now) break;
  }
}

}  // namespace sluice::activator
