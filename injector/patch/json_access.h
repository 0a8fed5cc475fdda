#pragma once

#include "common/json/read.h"

#include <optional>
#include <string_view>

namespace sluice::injector {

/// Keeps the order of keys, so that a document comes out as it went in.
using Json = nlohmann::ordered_json;

using reading::array;
using reading::member;
using reading::text;
using reading::whole;

/// The item of `list` whose `name` is that; null when there is none.
[[nodiscard]] const Json* named(const Json& list, std::string_view name);

/// Parses a JSON text of at most 64 levels and 1024 keys of one object; nothing when it is none.
[[nodiscard]] std::optional<Json> parse_json(std::string_view text);

}  // namespace sluice::injector
