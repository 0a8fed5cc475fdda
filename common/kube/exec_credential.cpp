#include "common/kube/exec_credential.h"

#include "common/json/parse.h"
#include "common/json/read.h"
#include "common/json/write.h"
#include "common/kube/bearer.h"
#include "common/values/rfc3339.h"

#include <nlohmann/json.hpp>

#include <utility>

namespace sluice::kube {
namespace {

using nlohmann::json;

Problem wrong(const ExecPlugin& plugin, const std::string& what) {
  return {"the plugin " + plugin.name() + " printed " + what,
          "run it by hand to see; it has to print an ExecCredential of " + plugin.api_version};
}

}  // namespace

std::string exec_info(const ExecPlugin& plugin, bool interactive) {
  json spec = {{"interactive", interactive}};
  if (!plugin.cluster_info.empty()) spec["cluster"] = reading::parsed(plugin.cluster_info);
  const json info = {
      {"apiVersion", plugin.api_version}, {"kind", "ExecCredential"}, {"spec", std::move(spec)}};
  return json_line(info);
}

Result<ExecCredential, Problem> read_exec_credential(const ExecPlugin& plugin,
                                                     std::string_view printed, TimePoint now) {
  const json body = reading::parsed(printed);
  if (!body.is_object()) return wrong(plugin, "no JSON object");
  if (reading::text(body, "kind") != "ExecCredential") return wrong(plugin, "no ExecCredential");
  if (reading::text(body, "apiVersion") != plugin.api_version) {
    return wrong(plugin, "another apiVersion than the kubeconfig's");
  }
  const json& status = reading::member(body, "status");
  ExecCredential credential{.token = reading::text(status, "token"),
                            .client_certificate = reading::text(status, "clientCertificateData"),
                            .client_key = reading::text(status, "clientKeyData"),
                            .expires = {}};
  if (credential.client_certificate.empty() != credential.client_key.empty()) {
    return wrong(plugin, "only one of clientCertificateData and clientKeyData");
  }
  if (credential.token.empty() && credential.client_key.empty()) {
    return wrong(plugin, "an ExecCredential with neither a token nor a client certificate");
  }
  if (bearer_token(credential.token) != credential.token) {
    return wrong(plugin, "a token that a header cannot carry");
  }
  if (const std::string at = reading::text(status, "expirationTimestamp"); !at.empty()) {
    credential.expires = parse_rfc3339(at);
    if (!credential.expires) return wrong(plugin, "an expirationTimestamp that is no time");
    if (*credential.expires <= now) return wrong(plugin, "a credential that has expired");
  }
  return credential;
}

void use_credential(Access& access, ExecCredential credential) {
  access.token = std::move(credential.token);
  access.client_certificate = std::move(credential.client_certificate);
  access.client_key = std::move(credential.client_key);
}

}  // namespace sluice::kube
