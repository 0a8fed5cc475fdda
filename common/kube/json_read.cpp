#include "common/kube/json_read.h"

#include "common/base/json_depth.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace sluice::kube::reading {
namespace {

// Pods nest some fifteen levels deep, schemas of custom resources twice that.
constexpr int kDepthMax = 64;
// etcd takes 1.5 MiB; what the server adds in its answers does not come near to this.
constexpr std::size_t kBytesMax = 8U << 20U;

const json& nothing() {
  static const json null;
  return null;
}

Selector::Operator operator_of(const std::string& name, bool& known) {
  known = true;
  if (name == "In") return Selector::Operator::in;
  if (name == "NotIn") return Selector::Operator::not_in;
  if (name == "Exists") return Selector::Operator::exists;
  known = name == "DoesNotExist";
  return Selector::Operator::does_not_exist;
}

}  // namespace

bool parse_document(std::string_view text, json& document) {
  if (text.size() > kBytesMax || json_depth(text) > kDepthMax) return false;
  // Who owns which field is often half of an object, and is not used here.
  const json::parser_callback_t wanted = [](int depth, json::parse_event_t event, json& parsed) {
    return depth != 2 || event != json::parse_event_t::key || parsed != "managedFields";
  };
  try {
    document = json::parse(text, wanted);
    return true;
  } catch (const json::exception&) {
    return false;
  }
}

bool parse_object(std::string_view text, json& document) {
  return parse_document(text, document) && document.is_object() &&
         !reading::text(member(document, "metadata"), "name").empty();
}

const json& member(const json& object, const char* key) {
  if (!object.is_object()) return nothing();
  const auto found = object.find(key);
  return found == object.end() ? nothing() : *found;
}

std::string text(const json& object, const char* key) {
  const json& value = member(object, key);
  return value.is_string() ? value.get<std::string>() : std::string{};
}

std::int64_t integer(const json& object, const char* key, std::int64_t otherwise) {
  const json& value = member(object, key);
  if (value.is_number_unsigned()) {
    constexpr auto kMost = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
    return static_cast<std::int64_t>(std::min(value.get<std::uint64_t>(), kMost));
  }
  return value.is_number_integer() ? value.get<std::int64_t>() : otherwise;
}

std::int32_t integer32(const json& object, const char* key, std::int32_t otherwise) {
  using Limits = std::numeric_limits<std::int32_t>;
  return static_cast<std::int32_t>(
      std::clamp<std::int64_t>(integer(object, key, otherwise), Limits::min(), Limits::max()));
}

std::uint16_t port(const json& object, const char* key) {
  const std::int64_t number = integer(object, key, 0);
  return number > 0 && number <= 65535 ? static_cast<std::uint16_t>(number) : std::uint16_t{0};
}

std::string protocol(const json& port) {
  std::string name = text(port, "protocol");
  return name.empty() ? "TCP" : name;
}

bool flag(const json& object, const char* key, bool otherwise) {
  const json& value = member(object, key);
  return value.is_boolean() ? value.get<bool>() : otherwise;
}

const json& array(const json& object, const char* key) {
  static const json none = json::array();
  const json& value = member(object, key);
  return value.is_array() ? value : none;
}

StringMap string_map(const json& object, const char* key) {
  StringMap map;
  const json& value = member(object, key);
  if (!value.is_object()) return map;
  for (const auto& [name, item] : value.items()) {
    if (item.is_string()) map.emplace(name, item.get<std::string>());
  }
  return map;
}

std::vector<std::string> strings(const json& object, const char* key) {
  std::vector<std::string> list;
  for (const json& item : array(object, key)) {
    if (item.is_string()) list.push_back(item.get<std::string>());
  }
  return list;
}

OwnerReference controller_of(const json& metadata) {
  for (const json& owner : array(metadata, "ownerReferences")) {
    if (flag(owner, "controller")) {
      return {text(owner, "kind"), text(owner, "name"), text(owner, "uid")};
    }
  }
  return {};
}

bool is_terminating(const json& metadata) {
  return !member(metadata, "deletionTimestamp").is_null();
}

Selector selector(const json& value) {
  Selector found;
  found.labels = string_map(value, "matchLabels");
  for (const json& item : array(value, "matchExpressions")) {
    bool known = false;
    Selector::Expression expression{text(item, "key"), operator_of(text(item, "operator"), known),
                                    strings(item, "values")};
    // An operator of a later version: `in` nothing, so that the selector matches no pod rather than
    // too many.
    if (!known) expression = {expression.key, Selector::Operator::in, {}};
    found.expressions.push_back(std::move(expression));
  }
  return found;
}

const json& condition(const json& status, std::string_view type) {
  for (const json& item : array(status, "conditions")) {
    if (text(item, "type") == type) return item;
  }
  return nothing();
}

std::vector<Condition> conditions(const json& status) {
  std::vector<Condition> all;
  for (const json& item : array(status, "conditions")) {
    all.push_back({text(item, "type"), text(item, "status"), text(item, "reason"),
                   text(item, "message"), text(item, "lastTransitionTime"),
                   integer(item, "observedGeneration", 0)});
  }
  return all;
}

}  // namespace sluice::kube::reading
