#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

// Values are written by people who know Go's notation: these readers accept exactly what strconv
// accepts, no more (no leading space) and no less (1_000, 0x1p4, NaN).
namespace sluice {

/// `text` without the white space, Unicode's included, at its ends.
[[nodiscard]] std::string_view trim_go_space(std::string_view text);

/// A float: decimal or hexadecimal, underscores between digits, NaN and signed Inf or Infinity in
/// any case. Absent when malformed or out of range.
[[nodiscard]] std::optional<double> read_go_float(std::string_view text);

/// A decimal integer with an optional sign, of at most `bits` (32 or 64) bits.
[[nodiscard]] std::optional<std::int64_t> read_go_int(std::string_view text, int bits);

/// 1 t T TRUE true True, 0 f F FALSE false False.
[[nodiscard]] std::optional<bool> read_go_bool(std::string_view text);

}  // namespace sluice
