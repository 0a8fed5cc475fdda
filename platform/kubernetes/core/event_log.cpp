#include "platform/kubernetes/core/event_log.h"

#include <algorithm>
#include <utility>

namespace sluice::autoscaler {

void EventLog::add(ScalerEvent event, TimePoint now) {
  const auto same = std::find_if(waiting_.begin(), waiting_.end(), [&event](const auto& each) {
    return each.scaler == event.scaler && each.reason == event.reason;
  });
  if (same != waiting_.end()) {
    ++same->count;
    same->message = std::move(event.message);
    same->last = now;
    return;
  }
  event.first = now;
  event.last = now;
  if (waiting_.size() == kWaitingMax) {
    waiting_.pop_front();
    ++forgotten_;
  }
  waiting_.push_back(std::move(event));
}

std::optional<ScalerEvent> EventLog::take(TimePoint now) {
  if (waiting_.empty() || now < free_at_) return std::nullopt;
  free_at_ = now + kPace;
  ScalerEvent event = std::move(waiting_.front());
  waiting_.pop_front();
  return event;
}

std::optional<TimePoint> EventLog::next_due() const {
  if (waiting_.empty()) return std::nullopt;
  return free_at_;
}

}  // namespace sluice::autoscaler
