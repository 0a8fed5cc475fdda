#pragma once

#include "common/time/time_point.h"

namespace sluice::autoscaler {

/// What cluster keys and annotations are held to alike (autoscaler.md 5, 6).
inline constexpr double kTargetMin = 0.01;
inline constexpr Duration kWindowMin = std::chrono::seconds{6};
inline constexpr Duration kWindowMax = std::chrono::hours{1};

[[nodiscard]] constexpr bool whole_seconds(Duration duration) {
  return duration % std::chrono::seconds{1} == Duration{0};
}

}  // namespace sluice::autoscaler
