#pragma once

#include "common/base/result.h"
#include "common/time/time_point.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sluice::loadgen {

/// `text` as a decimal number without sign, exponent or blanks; nothing if it is not one.
[[nodiscard]] std::optional<double> parse_number(std::string_view text);

/// `text` in Go's notation, `30s` or `1m30s`: at most 24 hours, never negative. The problem names
/// `what` (the flag or the field) and shows a valid form.
[[nodiscard]] Result<Duration, Problem> parse_duration(std::string_view text,
                                                       std::string_view what);
/// Sets `to` to what parse_duration() makes of `text`; an empty text leaves it as it is.
[[nodiscard]] std::optional<Problem> set_duration(Duration& to, std::string_view text,
                                                  std::string_view what);

/// `count` in groups of three parted by blanks: `12 003`.
[[nodiscard]] std::string grouped(std::uint64_t count);
/// `duration` in milliseconds for a table: `61.0`; below 0.1 ms two decimals.
[[nodiscard]] std::string milliseconds(Duration duration);
/// `duration` for a sentence: `60 s`, `1.5 s`, `63 ms`.
[[nodiscard]] std::string spoken(Duration duration);
/// `number` with up to three decimals and no zeros at the end: `200`, `0.5`.
[[nodiscard]] std::string plain(double number);

}  // namespace sluice::loadgen
