#pragma once

#include "common/base/result.h"

#include <optional>
#include <string>
#include <string_view>

namespace sluice::node_agent {

inline constexpr std::size_t kRecordLineMax = 8192;

/// What a line of a record may hold as one word: what is not printable ASCII becomes `%` and two
/// digits.
[[nodiscard]] std::string escaped(std::string_view text);

/// Absent: it is not what `escaped` makes.
[[nodiscard]] std::optional<std::string> unescaped(std::string_view text);

/// The line that keeps `body`, with its newline: `<checksum> <body>`.
[[nodiscard]] std::string record_line(std::string_view body);

/// What `line` keeps, with or without its newline, as a part of it. The Problem ends a sentence
/// that begins with what the line is of.
[[nodiscard]] Result<std::string_view, Problem> body_of(std::string_view line);

/// The next word of `rest`, which is left without it.
[[nodiscard]] std::string_view next_word(std::string_view& rest);

}  // namespace sluice::node_agent
