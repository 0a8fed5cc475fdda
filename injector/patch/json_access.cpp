#include "injector/patch/json_access.h"

#include "common/base/json_depth.h"

#include <nlohmann/json.hpp>

#include <charconv>
#include <vector>

namespace sluice::injector {
namespace {

constexpr int kDepthMax = 64;  // what Kubernetes itself has is less than half of it
constexpr int kKeysMax = 1024;

// Each key of an object that keeps its order is looked for among all earlier ones.
bool has_wide_object(std::string_view text) {
  std::vector<int> keys{0};  // of what is open, outermost first
  bool quoted = false;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (quoted) {
      if (c == '\\') ++at;
      quoted = c != '"';
    } else if (c == '[' || c == '{') {
      keys.push_back(0);
    } else if (c == ']' || c == '}') {
      keys.pop_back();
      if (keys.empty()) return false;  // no JSON, as the parser will find here
    } else if (c == ':') {
      if (++keys.back() > kKeysMax) return true;
    } else {
      quoted = c == '"';
    }
  }
  return false;
}

}  // namespace

const Json& member(const Json& object, std::string_view key) {
  static const Json kNothing;
  if (!object.is_object()) return kNothing;
  const auto found = object.find(std::string{key});
  return found == object.end() ? kNothing : *found;
}

const Json& array(const Json& object, std::string_view key) {
  static const Json kNone = Json::array();
  const Json& value = member(object, key);
  return value.is_array() ? value : kNone;
}

std::string text(const Json& object, std::string_view key) {
  const Json& value = member(object, key);
  return value.is_string() ? value.get<std::string>() : std::string{};
}

std::optional<long> integer(const Json& object, std::string_view key) {
  const Json& value = member(object, key);
  if (!value.is_number_integer()) return std::nullopt;
  const long number = value.get<long>();
  // An unsigned value beyond a long's reach has turned negative.
  if (value.is_number_unsigned() && number < 0) return std::nullopt;
  return number;
}

const Json* named(const Json& list, std::string_view name) {
  if (!list.is_array()) return nullptr;
  for (const Json& item : list) {
    if (text(item, "name") == name) return &item;
  }
  return nullptr;
}

std::optional<long> digits(std::string_view text, long least, long most) {
  long value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, failed] = std::from_chars(text.data(), end, value);
  if (failed != std::errc{} || stop != end || value < least || value > most) return std::nullopt;
  return value;
}

// The bounds are looked at before: a callback of the parser would cost quadratic time.
std::optional<Json> parse_json(std::string_view text) {
  if (json_depth(text) > kDepthMax || has_wide_object(text)) return std::nullopt;
  Json document = Json::parse(text, nullptr, false);
  if (document.is_discarded()) return std::nullopt;
  return document;
}

}  // namespace sluice::injector
