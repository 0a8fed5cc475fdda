#pragma once

#include "common/time/time_point.h"

#include <algorithm>

namespace sluice::kube {

/// Lets so many pass each second on average, and `burst` of them at once after a rest. A time that
/// steps back brings nothing.
class TokenBucket {
 public:
  TokenBucket(double per_second, double burst)
      : per_second_{per_second}, burst_{burst}, tokens_{burst} {}

  /// Whether one may pass now; it has passed then.
  [[nodiscard]] bool take(TimePoint now) {
    fill(now);
    if (tokens_ < 1) return false;
    tokens_ -= 1;
    return true;
  }

  /// How long until one may pass.
  [[nodiscard]] Duration wait(TimePoint now) {
    fill(now);
    // Rounded up, so that a caller that waits for so long finds a whole token.
    return tokens_ >= 1 ? Duration{0} : from_seconds((1 - tokens_) / per_second_) + Duration{1000};
  }

 private:
  void fill(TimePoint now) {
    if (now > filled_) {
      const bool first = filled_ == TimePoint{};
      if (!first) tokens_ = std::min(burst_, tokens_ + to_seconds(now - filled_) * per_second_);
      filled_ = now;
    }
  }

  double per_second_;
  double burst_;
  double tokens_;
  TimePoint filled_{};
};

}  // namespace sluice::kube
