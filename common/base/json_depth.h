#pragma once

#include <string_view>

namespace sluice {

/// How deep the brackets of a JSON text go, whether they match or not. For code that parses what
/// others wrote to ask before the parser, whose own means to look at depth cost quadratic time.
[[nodiscard]] int json_depth(std::string_view text);

}  // namespace sluice
