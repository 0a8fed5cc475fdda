#include "injector/io/webhook_bundle.h"

#include "common/kube/base64.h"

#include <nlohmann/json.hpp>

#include "injector/patch/json_access.h"

namespace sluice::injector {

std::optional<std::string> bundle_patch(std::string_view configuration, const std::string& bundle) {
  const auto document = parse_json(configuration);
  if (!document || !member(*document, "webhooks").is_array()) return std::nullopt;
  const std::string wanted = kube::encode_base64(bundle);
  Json steps = Json::array();
  std::size_t at = 0;
  for (const Json& webhook : array(*document, "webhooks")) {
    const std::string place = "/webhooks/" + std::to_string(at++);
    if (!member(webhook, "clientConfig").is_object()) continue;
    if (text(member(webhook, "clientConfig"), "caBundle") == wanted) continue;
    steps.push_back({{"op", "test"}, {"path", place + "/name"}, {"value", text(webhook, "name")}});
    steps.push_back({{"op", "add"}, {"path", place + "/clientConfig/caBundle"}, {"value", wanted}});
  }
  return steps.empty() ? std::string{} : steps.dump();
}

}  // namespace sluice::injector
