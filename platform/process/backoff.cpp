#include "platform/process/backoff.h"

#include <algorithm>

namespace sluice::local {

void StartBackoff::failed(TimePoint now, bool counts) {
  tick(now);
  if (counts) ++failures_;
  // Doubling stops at the longest wait, so the shift stays small.
  const std::uint32_t doublings = std::min<std::uint32_t>(waits_, 6);
  ++waits_;
  retry_at_ = now + std::min(kFirstWait * (std::int64_t{1} << doublings), kLongestWait);
}

void StartBackoff::became_ready(TimePoint now) {
  if (!ready_since_) ready_since_ = now;
}

void StartBackoff::no_longer_ready() {
  ready_since_.reset();
}

void StartBackoff::clear() {
  *this = StartBackoff();
}

void StartBackoff::tick(TimePoint now) {
  if (!ready_since_ || now - *ready_since_ < kClearedAfter) return;
  const auto since = ready_since_;
  clear();
  ready_since_ = since;
}

Duration StartBackoff::wait_left(TimePoint now) const {
  return std::max(retry_at_ - now, Duration{0});
}

}  // namespace sluice::local
