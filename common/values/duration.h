#pragma once

#include "common/base/result.h"
#include "common/time/time_point.h"
#include "common/values/misread.h"

#include <optional>
#include <string>
#include <string_view>

// One notation of durations for annotations, flags, variables and files: Go's, as
// time.ParseDuration reads it.
namespace sluice {

/// What a duration may be, both ends included.
struct DurationRange {
  Duration least;
  Duration most;
};

/// Whether `d`, 24 hours, is a unit as well. Go has none; ages of events are written with it.
enum class Days : bool { refused, accepted };

/// "1m30s", "1.5h", "-3ms", a bare "0".
[[nodiscard]] std::optional<Duration> read_go_duration(std::string_view text);

/// The same within `range`.
[[nodiscard]] Result<Duration, Misread> read_duration(std::string_view text, DurationRange range,
                                                      Days days = Days::refused);

/// `duration` in the same notation: "1m30s", "0s", "1.5s".
[[nodiscard]] std::string show_duration(Duration duration);

}  // namespace sluice
