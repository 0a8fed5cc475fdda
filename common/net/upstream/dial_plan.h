#pragma once

#include "common/time/time_point.h"

#include <algorithm>
#include <cstdint>

namespace sluice::net {

/// How long each try to connect may take and how long to rest between two (queue-proxy.md 9): a
/// listener whose backlog is full drops the first packet, and a new try is quicker than TCP's own
/// repetition after a second. Only tries that time out are repeated. The first step grows with the
/// way to the peer (activator.md 13). A value without a clock.
class DialPlan {
 public:
  static constexpr int kTries = 15;

  /// `seed`: any number; spreads the jitter. `most`: all tries and rests together. `round_trip`: to
  /// the peer, as far as known; zero: not.
  DialPlan(std::uint64_t seed, Duration most, Duration round_trip = Duration{0})
      : state_{seed * 2 + 1}, left_{most}, step_{std::max(kFirstStep, round_trip * kPatience)} {}

  /// What the next try may take; zero: there is none.
  [[nodiscard]] Duration next_try() {
    if (tries_ == kTries) return Duration{0};
    ++tries_;
    const Duration jittered = step_ + step_ * random(100) / 1000;
    step_ = step_ * 14 / 10;
    return spend(jittered);
  }

  /// How long to rest after a try that timed out.
  [[nodiscard]] Duration rest() {
    return spend(std::chrono::milliseconds{30} + std::chrono::milliseconds{random(30)});
  }

 private:
  static constexpr Duration kFirstStep = std::chrono::milliseconds{50};
  static constexpr int kPatience = 3;  // round trips

  Duration spend(Duration wanted) {
    const Duration granted = std::min(wanted, left_);
    left_ -= granted;
    return granted;
  }

  // 0 to `most`: a step of a linear congruential generator is random enough to spread tries.
  int random(int most) {
    state_ = state_ * 6364136223846793005ULL + 1442695040888963407ULL;
    return static_cast<int>((state_ >> 33U) % static_cast<std::uint64_t>(most + 1));
  }

  std::uint64_t state_;
  Duration left_;
  Duration step_;
  int tries_ = 0;
};

}  // namespace sluice::net
