#include "common/kube/access.h"

#include "common/files/file_io.h"
#include "common/values/whole_number.h"

#include <utility>

namespace sluice::kube {
namespace {

Result<Access, Problem> from_file(const std::string& path, const char* named_by,
                                  const AccessChoice& choice) {
  const auto text = files::read_file(path);
  if (!text) return Problem{std::string{named_by} + ": " + text.error().what, text.error().fix};
  if (!*text) {
    return Problem{std::string{named_by} + ": there is no file " + path,
                   "give the path of a kubeconfig"};
  }
  auto access = parse_kubeconfig(**text, choice.context, std::filesystem::path{path}.parent_path());
  if (!access) {
    return Problem{std::string{named_by} + "=" + path + ": " + access.error().what,
                   access.error().fix};
  }
  if (access->plugin && !choice.plugins) {
    return Problem{std::string{named_by} + "=" + path + ": exec is not supported for users here",
                   "use a token, tokenFile or client certificate (such as a service account's)"};
  }
  return access;
}

// The value of a variable, an empty one being none.
std::string value_of(const settings::Environment& environment, const char* name) {
  return environment(name).value_or("");
}

}  // namespace

Result<Access, Problem> in_cluster(const settings::Environment& environment,
                                   const std::filesystem::path& directory) {
  const std::string fix =
      "run in a pod with a service account, or name a kubeconfig in SLUICE_KUBECONFIG";
  Access access;
  access.address.host = value_of(environment, "KUBERNETES_SERVICE_HOST");
  const std::string given = value_of(environment, "KUBERNETES_SERVICE_PORT");
  if (access.address.host.empty() || given.empty()) {
    return Problem{"KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set", fix};
  }
  const auto port = whole_number<std::uint16_t>(given, 1);
  if (!port) return Problem{"KUBERNETES_SERVICE_PORT is not a port", fix};
  access.address.port = *port;
  access.server_name = access.address.host;
  access.token_file = directory / "token";
  const auto token = files::read_file(access.token_file);
  if (!token || !*token) {
    return Problem{"there is no service account token at " + access.token_file.string(), fix};
  }
  const auto ca = files::read_file(directory / "ca.crt");
  if (!ca || !*ca) {
    return Problem{"there is no certificate authority at " + (directory / "ca.crt").string(), fix};
  }
  access.ca = **ca;
  if (const auto space = files::read_file(directory / "namespace"); space && *space) {
    std::string name = **space;
    while (!name.empty() && (name.back() == '\n' || name.back() == ' ')) name.pop_back();
    if (!name.empty()) access.space = std::move(name);
  }
  return access;
}

Result<Access, Problem> find_access(const settings::Environment& environment,
                                    const AccessChoice& choice) {
  if (!choice.kubeconfig.empty()) return from_file(choice.kubeconfig, "--kubeconfig", choice);
  for (const char* const name : {"SLUICE_KUBECONFIG", "KUBECONFIG"}) {
    const std::string path = value_of(environment, name);
    if (path.empty()) continue;
    if (path.find(':') != std::string::npos) {
      return Problem{
          std::string{name} + " names several files; only one is supported",
          "name one file in SLUICE_KUBECONFIG (kubectl config view --flatten makes one)"};
    }
    return from_file(path, name, choice);
  }
  if (!value_of(environment, "KUBERNETES_SERVICE_HOST").empty()) {
    if (choice.context.empty()) return in_cluster(environment);
    return Problem{"--context: in this pod the service account gives access, and no kubeconfig",
                   "name one with --kubeconfig"};
  }
  const std::string home = value_of(environment, "HOME");
  const std::string usual = home.empty() ? std::string{} : home + "/.kube/config";
  std::error_code ignored;
  if (!usual.empty() && std::filesystem::exists(usual, ignored)) {
    return from_file(usual, "~/.kube/config", choice);
  }
  return Problem{
      "no Kubernetes API is configured: SLUICE_KUBECONFIG and KUBECONFIG are not set, "
      "KUBERNETES_SERVICE_HOST is not (not running in a pod), and there is no ~/.kube/config",
      "name a kubeconfig in SLUICE_KUBECONFIG"};
}

std::string authority_of(const Access& access) {
  const bool v6 = access.server_name.find(':') != std::string::npos;
  const std::string name = v6 ? "[" + access.server_name + "]" : access.server_name;
  const int usual = access.tls ? 443 : 80;
  return access.address.port == usual ? name : name + ":" + std::to_string(access.address.port);
}

}  // namespace sluice::kube
