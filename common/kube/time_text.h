#pragma once

#include "common/time/time_point.h"

#include <optional>
#include <string>
#include <string_view>

namespace sluice::kube {

/// `2026-03-01T08:09:10Z`, as metav1.Time is written: whole seconds, cut off.
[[nodiscard]] std::string time_text(TimePoint at);

/// `2026-03-01T08:09:10.123456Z`: metav1.MicroTime is refused with any other number of digits.
[[nodiscard]] std::string micro_time_text(TimePoint at);

/// Reads either of them, and RFC 3339 with an offset too. Years from 1970 to 2200, which a
/// TimePoint can hold.
[[nodiscard]] std::optional<TimePoint> parse_time(std::string_view text);

}  // namespace sluice::kube
