#pragma once

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sluice::view {

/// Text of a document that another program sent (common/json/read.h) loses its control characters,
/// so that no name or log line moves the cursor; a number its fraction.
[[nodiscard]] std::string text_field(const nlohmann::json& object, std::string_view key);
[[nodiscard]] std::int64_t integer_field(const nlohmann::json& object, std::string_view key,
                                         std::int64_t missing = 0);

/// clean_text of `text`, with a space for a tab: what comes from outside and is shown.
[[nodiscard]] std::string printable(std::string_view text);

/// `14.1`; `-` when there is none. What rounds to nothing has no sign.
[[nodiscard]] std::string one_decimal(std::optional<double> value);

/// `312`; `-` when there is none.
[[nodiscard]] std::string rounded(std::optional<double> value);

/// The target of a decision or a status: `7.0 (70 % of 10)`, what is aimed at per replica and what
/// it is of what one takes.
[[nodiscard]] std::string target_text(const nlohmann::json& object);

/// The bounds of a decision or a status: `1..4`, `0..any`.
[[nodiscard]] std::string bounds_text(const nlohmann::json& object);

/// The first `columns` columns of `text`; the last of them is `…` where text is left off.
[[nodiscard]] std::string shortened(std::string_view text, std::size_t columns);

/// Columns that `text` fills on a terminal: its code points.
[[nodiscard]] std::size_t width_of(std::string_view text);

/// `text` with spaces up to `width` columns.
[[nodiscard]] std::string padded(std::string text, std::size_t width);

/// `00:42`, `3:05:00`.
[[nodiscard]] std::string minutes_text(double seconds);

}  // namespace sluice::view
