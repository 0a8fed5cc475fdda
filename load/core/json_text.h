#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace sluice::loadgen {

/// What a JSON value stands for as a text: a string without its quotes and escapes, a number or a
/// truth value as written. Nothing for an object, an array and null, and where it is no JSON.
[[nodiscard]] std::optional<std::string> json_text(std::string_view value);

}  // namespace sluice::loadgen
