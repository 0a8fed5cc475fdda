#pragma once

#include <chrono>
#include <cstdint>

namespace sluice {

using Duration = std::chrono::nanoseconds;

/// An instant as nanoseconds since the Unix epoch. Cores receive it as an argument and never read a
/// clock. The one clock of a program (common/time/clock.h) hands out instants that do not step
/// back, but cores accept a step back, as the reference's do.
using TimePoint = std::chrono::time_point<std::chrono::system_clock, Duration>;

/// `seconds` (fractions allowed) as a Duration, truncated to whole nanoseconds.
[[nodiscard]] constexpr Duration from_seconds(double seconds) {
  return Duration{static_cast<std::int64_t>(seconds * 1e9)};
}

/// `duration` in seconds.
[[nodiscard]] constexpr double to_seconds(Duration duration) {
  return static_cast<double>(duration.count()) / 1e9;
}

}  // namespace sluice
