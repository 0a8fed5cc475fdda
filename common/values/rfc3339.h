#pragma once

#include "common/time/time_point.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sluice {

/// Digits after the point of a second; what is finer is cut off.
enum class Fraction : std::uint8_t {
  none,
  milliseconds,
  some_milliseconds,  ///< milliseconds; no point where they are 0
  microseconds,
};

/// `2026-11-20T14:03:12.061Z`: RFC 3339 in UTC.
[[nodiscard]] std::string rfc3339(TimePoint at, Fraction fraction);

/// Reads RFC 3339 with `Z` or an offset, and up to nine digits of a second. Nothing when malformed,
/// or of a year before 1970 or after 2200, which a TimePoint cannot hold.
[[nodiscard]] std::optional<TimePoint> parse_rfc3339(std::string_view text);

}  // namespace sluice
