#pragma once

#include "common/time/time_point.h"

#include <optional>
#include <string_view>

// How the formats of traces write times and durations.
namespace sluice::loadgen {

/// From so many digits of a second on, a time is exact: it is not spread.
inline constexpr int kExactDigits = 3;

/// When a request began, as one line has it.
struct RequestTime {
  Duration at{0};     ///< since 1970 if `dated`, else since the start of the trace
  bool dated = true;  ///< the same for all lines of a trace
  int digits = 0;     ///< of a second, after the point
};

/// `123.5`: seconds since the start, before 1970 + 230 years. No sign, no exponent.
[[nodiscard]] std::optional<RequestTime> read_offset(std::string_view text);

/// The date of an access log, `20/Nov/2026:14:03:12 +0100`; with up to nine digits of a second, and
/// without the offset, which is UTC, as HAProxy has it. Years 1970 to 2200.
[[nodiscard]] std::optional<RequestTime> read_log_date(std::string_view text);

/// Dates of one trace: RFC 3339, or numbers since 1970. The first number says whether all of them
/// are seconds or milliseconds.
class Dates {
 public:
  /// Nothing: no date, or none of 1970 to 2200.
  [[nodiscard]] std::optional<RequestTime> read(std::string_view text);

 private:
  std::optional<bool> in_milliseconds_;
};

/// How long something took: a decimal number of `unit`, an exponent allowed. 0 to 24 hours.
[[nodiscard]] std::optional<Duration> read_span(std::string_view text, Duration unit);

}  // namespace sluice::loadgen
