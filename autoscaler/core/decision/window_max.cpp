#include "autoscaler/core/decision/window_max.h"

#include "common/base/check.h"

#include <algorithm>

namespace sluice::autoscaler {

WindowMax::WindowMax(Duration window, Duration granularity)
    : granularity_(granularity), slots_((window - Duration{1}) / granularity + 1) {
  CHECK(granularity >= std::chrono::seconds{1});
  CHECK(window > Duration{0});
}

WindowMax::WindowMax(const SavedDelay& saved, Duration granularity)
    : granularity_(granularity), slots_(saved.slots) {
  CHECK(granularity >= std::chrono::seconds{1});
  CHECK(slots_ > 0);
  for (const SavedDelay::Entry& entry : saved.entries) {
    entries_.push_back({entry.slot, entry.value});
  }
}

SavedDelay WindowMax::saved() const {
  SavedDelay saved{slots_};
  for (const Entry& entry : entries_) saved.entries.push_back({entry.slot, entry.value});
  return saved;
}

void WindowMax::record(TimePoint at, std::int32_t value) {
  std::int64_t slot = at.time_since_epoch() / granularity_;
  // A clock that steps back must not grow the list: the value counts for the newest slot.
  if (!entries_.empty()) slot = std::max(slot, entries_.back().slot);

  while (!entries_.empty() && entries_.back().value <= value) entries_.pop_back();
  while (!entries_.empty() && slot - entries_.front().slot >= slots_) entries_.pop_front();
  const bool slot_has_larger = !entries_.empty() && entries_.back().slot == slot;
  if (!slot_has_larger) entries_.push_back({slot, value});
}

void WindowMax::carry_to(TimePoint at) {
  if (entries_.empty()) return;
  const std::int32_t value = current();
  entries_.clear();
  record(at, value);
}

std::int32_t WindowMax::current() const {
  return entries_.empty() ? 0 : entries_.front().value;
}

}  // namespace sluice::autoscaler
