#include "activator/core/queue_pace.h"

#include <algorithm>

namespace sluice::activator {

std::optional<Duration> QueuePace::least_wait(std::int32_t ahead, TimePoint now) {
  if (!began_) {
    began_ = true;
    span_began_ = now;
    admitted_ = 0;
  }
  if (now - span_began_ >= kSpan) {
    const double rate = admitted_ / to_seconds(now - span_began_);
    rates_[spans_ % kSpans] = static_cast<float>(rate);
    ++spans_;
    span_began_ = now;
    admitted_ = 0;
  }
  if (spans_ < 2) {
    return std::nullopt;
  }
  const std::size_t known = std::min<std::size_t>(spans_, kSpans);
  const auto last = rates_.begin() + static_cast<std::ptrdiff_t>(known);
  const double finished = static_cast<double>(*std::max_element(rates_.begin(), last));
  const double best = std::max(finished, admitted_ / to_seconds(kSpan));
  if (best <= 0) {
    return std::nullopt;
  }
  return from_seconds((ahead + 1) / (kSafety * best));
}

}  // namespace sluice::activator
