#include "common/kube/json_read.h"

#include "common/json/parse.h"

#include <utility>

namespace sluice::kube {
namespace {

using nlohmann::json;

// etcd takes 1.5 MiB; what the server adds in its answers does not come near to this. Who owns
// which field is often half of an object, and is not used here.
constexpr reading::Bounds kBounds{.bytes_max = std::size_t{8} << 20, .left_out = "managedFields"};

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
  return !reading::parse(text, kBounds, document);
}

bool parse_object(std::string_view text, json& document) {
  return parse_document(text, document) && document.is_object() &&
         !reading::text(reading::member(document, "metadata"), "name").empty();
}

std::string protocol(const json& port) {
  std::string name = reading::text(port, "protocol");
  return name.empty() ? "TCP" : name;
}

OwnerReference controller_of(const json& metadata) {
  for (const json& owner : reading::array(metadata, "ownerReferences")) {
    if (reading::flag(owner, "controller")) {
      return {reading::text(owner, "kind"), reading::text(owner, "name"),
              reading::text(owner, "uid")};
    }
  }
  return {};
}

bool is_terminating(const json& metadata) {
  return !reading::member(metadata, "deletionTimestamp").is_null();
}

bool is_native_sidecar(const json& init_container) {
  return reading::text(init_container, "restartPolicy") == "Always";
}

Selector selector(const json& value) {
  Selector found;
  found.labels = reading::string_map(value, "matchLabels");
  for (const json& item : reading::array(value, "matchExpressions")) {
    bool known = false;
    Selector::Expression expression{reading::text(item, "key"),
                                    operator_of(reading::text(item, "operator"), known),
                                    reading::strings(item, "values")};
    // An operator of a later version: `in` nothing, so that the selector matches no pod rather than
    // too many.
    if (!known) expression = {expression.key, Selector::Operator::in, {}};
    found.expressions.push_back(std::move(expression));
  }
  return found;
}

const json& condition(const json& status, std::string_view type) {
  for (const json& item : reading::array(status, "conditions")) {
    if (reading::text(item, "type") == type) return item;
  }
  static const json kNone;
  return kNone;
}

std::vector<Condition> conditions(const json& status) {
  std::vector<Condition> all;
  for (const json& item : reading::array(status, "conditions")) {
    all.push_back({reading::text(item, "type"), reading::text(item, "status"),
                   reading::text(item, "reason"), reading::text(item, "message"),
                   reading::text(item, "lastTransitionTime"),
                   reading::whole(item, "observedGeneration").value_or(0)});
  }
  return all;
}

}  // namespace sluice::kube
