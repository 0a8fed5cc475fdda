#include "common/files/json_fields.h"

#include "common/base/clean_text.h"
#include "common/base/json_depth.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <utility>

namespace sluice::files {
namespace {

using nlohmann::json;

constexpr int kDepthMax = 16;
constexpr std::size_t kUnknownKeysMax = 20;

std::string with_article(std::string_view expected) {
  return "give " + std::string{expected};
}

std::string shown_value(const json& value) {
  return shown(value.dump(-1, ' ', false, json::error_handler_t::replace), 40);
}

}  // namespace

std::string shown(std::string_view text, std::size_t bytes_max) {
  const bool cut = text.size() > bytes_max;
  const std::string out = clean_text(text.substr(0, bytes_max));
  return cut ? out + "..." : out;
}

bool is_printable(std::string_view text, std::size_t bytes_max) {
  return text.size() <= bytes_max && std::none_of(text.begin(), text.end(), [](char c) {
           return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
         });
}

std::optional<Problem> parse_json(std::string_view text, json& document) {
  if (json_depth(text) > kDepthMax) {
    return Problem{"it nests deeper than 16 levels", "nest at most 16 levels"};
  }
  try {
    document = json::parse(text);
    return std::nullopt;
  } catch (const json::parse_error& error) {
    return Problem{"invalid JSON at byte " + std::to_string(error.byte),
                   "write the whole file, then rename it into place"};
  } catch (const json::exception&) {
    return Problem{"it holds a number that is too large", "no number here exceeds 1e308"};
  }
}

std::optional<net::Address> dialled_address(const json& value, std::string_view place,
                                            JsonFindings& findings) {
  constexpr const char* kExpected = "host:port or unix:/path";
  const auto refuse = [&](std::string what) {
    findings.complain({std::string{place} + ": " + std::move(what), with_article(kExpected)});
    return std::nullopt;
  };
  if (!value.is_string()) return refuse(shown_value(value) + " is not a string");
  const auto& text = value.get_ref<const std::string&>();
  auto address = net::parse_address(shown(text, 300));
  if (!address) return refuse(address.error().what);
  if (!address->is_unix() && address->port == 0) {
    return refuse("bad address '" + shown(text) + "': port 0 cannot be dialled");
  }
  if (!address->is_unix() && address->host.empty()) address->host = "127.0.0.1";
  return *address;
}

JsonFields::JsonFields(const json& object, std::string place, JsonFindings& findings)
    : object_{object}, place_{std::move(place)}, findings_{findings} {
  if (object.is_object()) return;
  findings_.complain({(place_.empty() ? std::string{"it"} : place_) + " is not a JSON object",
                      "give an object, {...}"});
}

std::string JsonFields::name_of(std::string_view key) const {
  return place_.empty() ? std::string{key} : place_ + "." + std::string{key};
}

void JsonFields::refuse(std::string_view key, std::string_view wrong, std::string_view expected) {
  findings_.complain({name_of(key) + ": " + std::string{wrong}, with_article(expected)});
}

const json* JsonFields::find(const char* key) {
  asked_.emplace_back(key);
  if (!object_.is_object()) return nullptr;
  const auto found = object_.find(key);
  return found == object_.end() ? nullptr : &*found;
}

std::string JsonFields::text(const char* key, Need need, std::size_t bytes_max) {
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

std::int64_t JsonFields::integer(const char* key, std::int64_t fallback, std::int64_t least,
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

double JsonFields::number(const char* key, double fallback, double least, double most) {
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

bool JsonFields::boolean(const char* key, bool fallback) {
  const json* const value = find(key);
  if (value == nullptr) return fallback;
  if (value->is_boolean()) return value->get<bool>();
  refuse(key, shown_value(*value) + " is not accepted", "true or false");
  return fallback;
}

std::optional<net::Address> JsonFields::address(const char* key) {
  const json* const value = find(key);
  if (value == nullptr || *value == "") return std::nullopt;
  return dialled_address(*value, name_of(key), findings_);
}

const json* JsonFields::array(const char* key, std::size_t items_max) {
  const json* const value = find(key);
  if (value == nullptr) return nullptr;
  if (value->is_array() && value->size() <= items_max) return value;
  refuse(key,
         value->is_array() ? "has " + std::to_string(value->size()) + " items"
                           : shown_value(*value) + " is not an array",
         "an array of at most " + std::to_string(items_max) + " items");
  return nullptr;
}

const json* JsonFields::object(const char* key, std::size_t items_max) {
  const json* const value = find(key);
  if (value == nullptr) return nullptr;
  if (value->is_object() && value->size() <= items_max) return value;
  refuse(key,
         value->is_object() ? "has " + std::to_string(value->size()) + " keys"
                            : shown_value(*value) + " is not an object",
         "an object of at most " + std::to_string(items_max) + " keys");
  return nullptr;
}

void JsonFields::close() {
  if (!object_.is_object()) return;
  for (const auto& [key, value] : object_.items()) {
    if (std::find(asked_.begin(), asked_.end(), key) != asked_.end()) continue;
    if (findings_.unknown_keys.size() >= kUnknownKeysMax) return;
    findings_.unknown_keys.push_back(shown(name_of(key)));
  }
}

}  // namespace sluice::files
