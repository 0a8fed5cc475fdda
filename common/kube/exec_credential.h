#pragma once

#include "common/base/result.h"
#include "common/kube/access.h"
#include "common/time/time_point.h"

#include <optional>
#include <string>
#include <string_view>

// What is said to a plugin of a kubeconfig, and what it answers (client.authentication.k8s.io).
namespace sluice::kube {

/// What a plugin gave: a token, a client certificate with its key, or both.
struct ExecCredential {
  std::string token;
  std::string client_certificate;    ///< PEM
  std::string client_key;            ///< PEM
  std::optional<TimePoint> expires;  ///< absent: it does not say
};

/// The variable in which a plugin finds what it is asked for.
inline constexpr const char* kExecInfo = "KUBERNETES_EXEC_INFO";

/// Its value. `interactive`: the plugin may ask the person at the terminal.
[[nodiscard]] std::string exec_info(const ExecPlugin& plugin, bool interactive);

/// The credential in what a plugin printed. A problem says what is wrong with it, and none of it.
[[nodiscard]] Result<ExecCredential, Problem> read_exec_credential(const ExecPlugin& plugin,
                                                                   std::string_view printed,
                                                                   TimePoint now);

/// Puts it in place of what the access had.
void use_credential(Access& access, ExecCredential credential);

}  // namespace sluice::kube
