#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace sluice::net {

/// How fast a pool opens connections for many requests at once. Each connection costs both sides
/// several requests' work, and while answers come back their connections serve waiting requests: so
/// few are opened amid such returns, and ever more of them while none return. Counted in ticks;
/// a waiting request is served by either side, at least kAmidReturns of them a tick. A value
/// without a clock.
class DialPace {
 public:
  static constexpr std::chrono::milliseconds kTick{5};
  static constexpr std::int32_t kAtOnce = 64;       ///< out of rest
  static constexpr std::int32_t kAmidReturns = 16;  ///< a tick in which at least as many return
  static constexpr std::int32_t kStepMax = 4096;    ///< a tick in which fewer do, at most

  /// Whether a connection may be opened now.
  [[nodiscard]] bool take() {
    if (left_ == 0) return false;
    --left_;
    return true;
  }

  /// A connection has come back from its request.
  void returned() { ++returns_; }

  /// kTick has passed, and a request waits for a connection.
  void tick() {
    if (returns_ >= kAmidReturns) {
      step_ = kAtOnce;
      left_ = std::max(left_, kAmidReturns);
    } else {
      left_ = std::max(left_, step_);
      step_ = std::min(step_ * 2, kStepMax);
    }
    returns_ = 0;
  }

  /// No dial waits: the next burst starts with the full budget.
  void rest() { *this = DialPace{}; }

 private:
  std::int32_t left_ = kAtOnce;
  std::int32_t step_ = kAtOnce;
  std::int32_t returns_ = 0;
};

}  // namespace sluice::net
