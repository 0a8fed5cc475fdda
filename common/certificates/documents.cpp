#include "common/certificates/documents.h"

#include "common/kube/base64.h"
#include "common/kube/json_read.h"

#include <array>
#include <utility>

namespace sluice::certificates {
namespace {

using nlohmann::json;
using reading::member;
using reading::text;

using Field = std::pair<const char*, std::string Set::*>;

constexpr std::array<Field, 5> kFields{{{"ca.crt", &Set::ca},
                                        {"ca.key", &Set::ca_key},
                                        {"ca-old.crt", &Set::old_ca},
                                        {"tls.crt", &Set::leaf},
                                        {"tls.key", &Set::leaf_key}}};

json document_of(const char* kind, const Place& place, const std::string& resource_version) {
  json document{{"apiVersion", "v1"},
                {"kind", kind},
                {"metadata",
                 {{"name", place.name},
                  {"namespace", place.space},
                  {"labels",
                   {{"app.kubernetes.io/name", place.component},
                    {"app.kubernetes.io/part-of", "sluice"},
                    {"app.kubernetes.io/managed-by", "sluice"}}}}},
                {"data", json::object()}};
  if (!resource_version.empty()) document["metadata"]["resourceVersion"] = resource_version;
  return document;
}

}  // namespace

std::optional<Secret> read_secret(std::string_view text_of) {
  json document;
  if (!kube::parse_document(text_of, document) || !member(document, "metadata").is_object()) {
    return std::nullopt;
  }
  Secret secret;
  secret.resource_version = text(member(document, "metadata"), "resourceVersion");
  const json& data = member(document, "data");
  for (const auto& [key, field] : kFields) {
    secret.set.*field = kube::decode_base64(text(data, key)).value_or("");
  }
  return secret;
}

std::string secret_document(const Place& place, const Secret& secret) {
  json document = document_of("Secret", place, secret.resource_version);
  document["type"] = "Opaque";
  for (const auto& [key, field] : kFields) {
    const std::string& value = secret.set.*field;
    if (!value.empty()) document["data"][key] = kube::encode_base64(value);
  }
  return document.dump();
}

std::string bundle_document(const Place& place, const std::string& bundle,
                            const std::string& resource_version) {
  json document = document_of("ConfigMap", place, resource_version);
  document["data"]["ca.crt"] = bundle;
  return document.dump();
}

std::optional<Bundle> read_bundle(std::string_view text_of) {
  json document;
  if (!kube::parse_document(text_of, document) || !member(document, "metadata").is_object()) {
    return std::nullopt;
  }
  return Bundle{.pem = text(member(document, "data"), "ca.crt"),
                .resource_version = text(member(document, "metadata"), "resourceVersion")};
}

}  // namespace sluice::certificates
