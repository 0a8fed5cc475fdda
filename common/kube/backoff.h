#pragma once

#include "common/time/time_point.h"

#include <algorithm>

namespace sluice::kube {

/// Pauses between tries: 100 ms * 2^n, at most 30 s, of which the second half is left to chance so
/// that calls which failed together are not retried together.
class Backoff {
 public:
  static constexpr Duration kFirst = std::chrono::milliseconds{100};
  static constexpr Duration kMost = std::chrono::seconds{30};

  /// `chance`: from 0 up to 1.
  [[nodiscard]] Duration next(double chance) {
    const Duration whole = next_;
    next_ = std::min(next_ * 2, kMost);
    return from_seconds(to_seconds(whole) * (0.5 + chance / 2));
  }

  void reset() { next_ = kFirst; }

 private:
  Duration next_ = kFirst;
};

}  // namespace sluice::kube
