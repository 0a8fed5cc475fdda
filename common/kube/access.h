#pragma once

#include "common/base/result.h"
#include "common/net/address.h"
#include "common/settings/reader.h"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sluice::kube {

/// When a plugin may ask a person.
enum class Interactive : std::uint8_t { never, if_available, always };

/// A program that gives the credentials of a kubeconfig's user (client.authentication.k8s.io).
struct ExecPlugin {
  std::string api_version;           ///< v1 or v1beta1
  std::vector<std::string> command;  ///< program and arguments, one at least
  std::vector<std::pair<std::string, std::string>> environment{};  ///< beside our own
  Interactive interactive = Interactive::if_available;
  std::string install_hint{};  ///< for people who do not have it
  std::string cluster_info{};  ///< JSON of the cluster; empty: the plugin is not to get it

  /// As messages name it.
  [[nodiscard]] const std::string& name() const { return command.front(); }
};

/// How an API server is reached, and our credentials. Secrets in it are never logged.
struct Access {
  net::Address address;     ///< host:port
  std::string server_name;  ///< the name or IP that its certificate must carry, sent in Host
  std::string path_prefix;  ///< of a server behind a gateway; empty or "/prefix"
  bool tls = true;
  std::string ca;                    ///< PEM: the CAs that may have signed its certificate
  std::string client_certificate;    ///< PEM; empty: none
  std::string client_key;            ///< PEM; empty: none
  std::string token;                 ///< bearer; empty: none
  std::filesystem::path token_file;  ///< read again each minute: tokens of service accounts rotate
  std::optional<ExecPlugin> plugin;  ///< gives token or certificate; absent: they stand here
  std::string space = "default";     ///< namespace for what names none
};

/// Reads a kubeconfig document. `context` empty: its current one. `directory`: where relative paths
/// in it begin. Refused, with the fix: auth providers, `insecure-skip-tls-verify`,
/// user names with passwords, proxies.
[[nodiscard]] Result<Access, Problem> parse_kubeconfig(std::string_view text,
                                                       std::string_view context,
                                                       const std::filesystem::path& directory);

/// The access that a pod has by its service account: KUBERNETES_SERVICE_HOST and _PORT, and the
/// token, ca.crt and namespace below `directory`.
[[nodiscard]] Result<Access, Problem> in_cluster(
    const settings::Environment& environment,
    const std::filesystem::path& directory = "/var/run/secrets/kubernetes.io/serviceaccount");

/// What a person chooses; empty: nothing.
struct AccessChoice {
  std::string kubeconfig;  ///< path of --kubeconfig
  std::string context;     ///< of the kubeconfig, instead of its current one
  bool plugins = false;    ///< one whose user has an exec plugin is taken: the caller runs it
};

/// The chosen kubeconfig, else SLUICE_KUBECONFIG, else KUBECONFIG (one file), else in_cluster(),
/// else ~/.kube/config. The problem names everything that was tried.
[[nodiscard]] Result<Access, Problem> find_access(const settings::Environment& environment,
                                                  const AccessChoice& choice = {});

/// The server as its requests name it in Host: name or IP, with a port other than the usual one.
[[nodiscard]] std::string authority_of(const Access& access);

}  // namespace sluice::kube
