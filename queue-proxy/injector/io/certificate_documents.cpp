#include "queue-proxy/injector/io/certificate_documents.h"

#include "common/kube/base64.h"
#include "queue-proxy/injector/patch/base64_text.h"
#include "queue-proxy/injector/patch/json_access.h"

#include <nlohmann/json.hpp>

#include <array>
#include <utility>

namespace sluice::injector {
namespace {

using Field = std::pair<const char*, std::string CertificateSet::*>;

constexpr std::array<Field, 5> kFields{{{"ca.crt", &CertificateSet::ca},
                                        {"ca.key", &CertificateSet::ca_key},
                                        {"ca-old.crt", &CertificateSet::old_ca},
                                        {"tls.crt", &CertificateSet::leaf},
                                        {"tls.key", &CertificateSet::leaf_key}}};

}  // namespace

std::optional<CertificateSecret> read_secret(std::string_view json) {
  const auto document = parse_json(json);
  if (!document || !member(*document, "metadata").is_object()) return std::nullopt;
  CertificateSecret secret;
  secret.resource_version = text(member(*document, "metadata"), "resourceVersion");
  const Json& data = member(*document, "data");
  for (const auto& [key, field] : kFields) {
    secret.set.*field = kube::decode_base64(text(data, key)).value_or("");
  }
  return secret;
}

std::string secret_document(const std::string& space, const std::string& name,
                            const CertificateSecret& secret) {
  Json document{{"apiVersion", "v1"},
                {"kind", "Secret"},
                {"metadata",
                 {{"name", name},
                  {"namespace", space},
                  {"labels",
                   {{"app.kubernetes.io/name", "injector"},
                    {"app.kubernetes.io/part-of", "sluice"},
                    {"app.kubernetes.io/managed-by", "sluice"}}}}},
                {"type", "Opaque"},
                {"data", Json::object()}};
  if (!secret.resource_version.empty()) {
    document["metadata"]["resourceVersion"] = secret.resource_version;
  }
  for (const auto& [key, field] : kFields) {
    const std::string& value = secret.set.*field;
    if (!value.empty()) document["data"][key] = base64_text(value);
  }
  return document.dump();
}

std::optional<std::string> bundle_patch(std::string_view configuration, const std::string& bundle) {
  const auto document = parse_json(configuration);
  if (!document || !member(*document, "webhooks").is_array()) return std::nullopt;
  const std::string wanted = base64_text(bundle);
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
