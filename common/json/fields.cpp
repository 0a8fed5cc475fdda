#include "common/json/fields.h"

#include "common/base/clean_text.h"
#include "common/json/write.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <utility>

namespace sluice::reading {
namespace {

using nlohmann::json;

constexpr std::size_t kUnknownKeysMax = 20;

std::string with_article(std::string_view expected) {
  return "give " + std::string{expected};
}

}  // namespace

std::string shown(std::string_view text, std::size_t bytes_max) {
  const bool cut = text.size() > bytes_max;
  const std::string out = clean_text(text.substr(0, bytes_max));
  return cut ? out + "..." : out;
}

std::string shown_value(const json& value) {
  return shown(json_line(value), 40);
}

bool is_printable(std::string_view text, std::size_t bytes_max) {
  return text.size() <= bytes_max && std::none_of(text.begin(), text.end(), [](char c) {
           return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
         });
}

Fields::Fields(const json& object, std::string place, Findings& findings, Null null)
    : object_{object}, place_{std::move(place)}, findings_{findings}, null_{null} {
  if (object.is_object()) return;
  findings_.complain({(place_.empty() ? std::string{"it"} : place_) + " is not a JSON object",
                      "give an object, {...}"});
}

std::string Fields::name_of(std::string_view key) const {
  return place_.empty() ? std::string{key} : place_ + "." + std::string{key};
}

void Fields::refuse(std::string_view key, std::string_view wrong, std::string_view expected) {
  findings_.complain({name_of(key) + ": " + std::string{wrong}, with_article(expected)});
}

const json* Fields::find(const char* key) {
  asked_.emplace_back(key);
  if (!object_.is_object()) return nullptr;
  const auto found = object_.find(key);
  const bool absent = found == object_.end() || (null_ == Null::absent && found->is_null());
  return absent ? nullptr : &*found;
}

std::string Fields::any_text(const char* key) {
  const json* const value = find(key);
  if (value == nullptr) return {};
  if (value->is_string()) return value->get<std::string>();
  refuse(key, shown_value(*value) + " is not a string", "a string");
  return {};
}

std::string Fields::text(const char* key, Need need, std::size_t bytes_max) {
  const json* const value = find(key);
  const std::string expected = "a string of at most " + std::to_string(bytes_max) + " bytes";
  if (value == nullptr) {
    if (need == Need::required) refuse(key, "is missing", expected);
    return {};
  }
  if (!value->is_string()) {
    refuse(key, shown_value(*value) + " is not a string", expected);
    return {};
  }
  const auto& text = value->get_ref<const std::string&>();
  if (!is_printable(text, bytes_max)) {
    refuse(key, "'" + shown(text) + "' is too long or has control characters", expected);
    return {};
  }
  return text;
}

std::int64_t Fields::integer(const char* key, std::int64_t fallback, std::int64_t least,
                             std::int64_t most) {
  const json* const value = find(key);
  if (value == nullptr) return fallback;
  // A number above the signed range is kept as an unsigned one.
  const bool fits = value->is_number_integer() &&
                    !(value->is_number_unsigned() &&
                      value->get<std::uint64_t>() > static_cast<std::uint64_t>(most)) &&
                    value->get<std::int64_t>() >= least && value->get<std::int64_t>() <= most;
  if (fits) return value->get<std::int64_t>();
  refuse(key, shown_value(*value) + " is not accepted",
         "a whole number from " + std::to_string(least) + " to " + std::to_string(most));
  return fallback;
}

double Fields::number(const char* key, double fallback, double least, double most) {
  const json* const value = find(key);
  if (value == nullptr) return fallback;
  if (value->is_number()) {
    const auto number = value->get<double>();
    if (number >= least && number <= most) return number;
  }
  refuse(key, shown_value(*value) + " is not accepted",
         "a number from " + json(least).dump() + " to " + json(most).dump());
  return fallback;
}

bool Fields::boolean(const char* key, bool fallback) {
  const json* const value = find(key);
  if (value == nullptr) return fallback;
  if (value->is_boolean()) return value->get<bool>();
  refuse(key, shown_value(*value) + " is not accepted", "true or false");
  return fallback;
}

const json* Fields::array(const char* key, std::size_t items_max) {
  const json* const value = find(key);
  if (value == nullptr) return nullptr;
  if (value->is_array() && value->size() <= items_max) return value;
  refuse(key,
         value->is_array() ? "has " + std::to_string(value->size()) + " items"
                           : shown_value(*value) + " is not an array",
         "an array of at most " + std::to_string(items_max) + " items");
  return nullptr;
}

const json* Fields::object(const char* key, std::size_t items_max) {
  const json* const value = find(key);
  if (value == nullptr) return nullptr;
  if (value->is_object() && value->size() <= items_max) return value;
  refuse(key,
         value->is_object() ? "has " + std::to_string(value->size()) + " keys"
                            : shown_value(*value) + " is not an object",
         "an object of at most " + std::to_string(items_max) + " keys");
  return nullptr;
}

void Fields::close() {
  if (!object_.is_object()) return;
  for (const auto& [key, value] : object_.items()) {
    if (std::find(asked_.begin(), asked_.end(), key) != asked_.end()) continue;
    if (findings_.unknown_keys.size() >= kUnknownKeysMax) return;
    findings_.unknown_keys.push_back(shown(name_of(key)));
  }
}

}  // namespace sluice::reading
