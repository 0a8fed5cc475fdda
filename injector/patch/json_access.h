#pragma once

#include <nlohmann/json_fwd.hpp>

#include <optional>
#include <string>
#include <string_view>

// How documents of Kubernetes are read here: what is absent, null or of another type is nothing.
namespace sluice::injector {

/// Keeps the order of keys, so that a document comes out as it went in.
using Json = nlohmann::ordered_json;

/// The member of that name; a null when there is none, or `object` is no object.
[[nodiscard]] const Json& member(const Json& object, std::string_view key);

/// The array of that name; an empty one when there is none.
[[nodiscard]] const Json& array(const Json& object, std::string_view key);

/// Empty unless it is a string.
[[nodiscard]] std::string text(const Json& object, std::string_view key);

/// Nothing unless it is a whole number that fits.
[[nodiscard]] std::optional<long> integer(const Json& object, std::string_view key);

/// The item of `list` whose `name` is that; null when there is none.
[[nodiscard]] const Json* named(const Json& list, std::string_view name);

/// A whole number written in digits, within the bounds.
[[nodiscard]] std::optional<long> digits(std::string_view text, long least, long most);

/// Parses a JSON text of at most 64 levels and 1024 keys of one object; nothing when it is none.
[[nodiscard]] std::optional<Json> parse_json(std::string_view text);

}  // namespace sluice::injector
