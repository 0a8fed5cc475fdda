#pragma once

#include "common/base/result.h"

#include <string>
#include <string_view>

namespace sluice::loadgen {

/// The bytes of a body from a file, at most kBodyBytesMax.
[[nodiscard]] Result<std::string, Problem> read_body_file(const std::string& path);

/// Bytes from pairs of hexadecimal digits; blanks between them have no effect.
[[nodiscard]] Result<std::string, Problem> parse_hex(std::string_view text);

}  // namespace sluice::loadgen
