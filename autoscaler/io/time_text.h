#pragma once

#include "common/time/time_point.h"

#include <optional>
#include <string>
#include <string_view>

namespace sluice::autoscaler {

/// A time in documents and events: RFC 3339 in UTC, milliseconds only when they are not 0.
[[nodiscard]] std::string format_time(TimePoint at);

/// A moment as a person names it: RFC 3339, `14:03` or `14:03:12` in local time (the latest such
/// moment not after `now`), or an age such as `5m`.
[[nodiscard]] std::optional<TimePoint> parse_moment(std::string_view text, TimePoint now);

/// The last instant that `text` may mean: parse_moment, but a time belongs to the unit it is
/// written in. `14:03:12` lasts until the end of that second, `14:03:12.061` of that millisecond.
[[nodiscard]] std::optional<TimePoint> parse_moment_end(std::string_view text, TimePoint now);

/// An age such as `10m`, `1h30m`, `2d12h`; nothing when malformed or longer than 10 years.
[[nodiscard]] std::optional<Duration> parse_age(std::string_view text);

/// `14:03:12` in local time.
[[nodiscard]] std::string format_clock(TimePoint at);

/// `14:03:12.061` in local time, on another day than that of `now` with the date before it:
/// `2026-11-20 14:03:12.061`.
[[nodiscard]] std::string format_moment(TimePoint at, TimePoint now);

}  // namespace sluice::autoscaler
