#pragma once

#include <nlohmann/json.hpp>

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// How documents are read that another program wrote and a newer one may write otherwise: what is
// absent, null or of another type reads as nothing. What a person writes is read by fields.h, which
// complains. For sources only, since it brings the JSON library along.
namespace sluice::reading {

template <class Json>
concept Document = std::same_as<Json, nlohmann::json> || std::same_as<Json, nlohmann::ordered_json>;

/// The member of that name; null when there is none, or `object` is no object.
template <Document Json>
[[nodiscard]] const Json& member(const Json& object, std::string_view key) {
  static const Json kNothing;
  if (!object.is_object()) return kNothing;
  const auto found = object.find(key);
  return found == object.end() ? kNothing : *found;
}

/// The array of that name; an empty one when there is none.
template <Document Json>
[[nodiscard]] const Json& array(const Json& object, std::string_view key) {
  static const Json kNone = Json::array();
  const Json& value = member(object, key);
  return value.is_array() ? value : kNone;
}

/// Empty unless it is a string.
template <Document Json>
[[nodiscard]] std::string text(const Json& object, std::string_view key) {
  const Json& value = member(object, key);
  return value.is_string() ? value.template get<std::string>() : std::string{};
}

template <Document Json>
[[nodiscard]] bool flag(const Json& object, std::string_view key, bool otherwise = false) {
  const Json& value = member(object, key);
  return value.is_boolean() ? value.template get<bool>() : otherwise;
}

template <Document Json>
[[nodiscard]] std::optional<double> number(const Json& object, std::string_view key) {
  const Json& value = member(object, key);
  return value.is_number() ? std::optional{value.template get<double>()} : std::nullopt;
}

/// Nothing unless it is a whole number of 64 bits.
template <Document Json>
[[nodiscard]] std::optional<std::int64_t> whole(const Json& object, std::string_view key) {
  const Json& value = member(object, key);
  if (!value.is_number_integer()) return std::nullopt;
  const auto number = value.template get<std::int64_t>();
  // An unsigned value beyond the signed range has turned negative.
  return value.is_number_unsigned() && number < 0 ? std::nullopt : std::optional{number};
}

/// `otherwise` unless it is a whole number; brought into the range of 32 bits.
template <Document Json>
[[nodiscard]] std::int32_t integer32(const Json& object, std::string_view key,
                                     std::int32_t otherwise) {
  using Limits = std::numeric_limits<std::int32_t>;
  return static_cast<std::int32_t>(std::clamp<std::int64_t>(whole(object, key).value_or(otherwise),
                                                            Limits::min(), Limits::max()));
}

/// 0 unless it is a port.
template <Document Json>
[[nodiscard]] std::uint16_t port(const Json& object, std::string_view key) {
  const std::int64_t number = whole(object, key).value_or(0);
  return number > 0 && number <= 65535 ? static_cast<std::uint16_t>(number) : std::uint16_t{0};
}

/// The members whose values are strings.
template <Document Json>
[[nodiscard]] std::map<std::string, std::string, std::less<>> string_map(const Json& object,
                                                                         std::string_view key) {
  std::map<std::string, std::string, std::less<>> map;
  const Json& value = member(object, key);
  if (!value.is_object()) return map;
  for (const auto& [name, item] : value.items()) {
    if (item.is_string()) map.emplace(name, item.template get<std::string>());
  }
  return map;
}

/// The items that are strings.
template <Document Json>
[[nodiscard]] std::vector<std::string> strings(const Json& object, std::string_view key) {
  std::vector<std::string> list;
  for (const Json& item : array(object, key)) {
    if (item.is_string()) list.push_back(item.template get<std::string>());
  }
  return list;
}

}  // namespace sluice::reading
