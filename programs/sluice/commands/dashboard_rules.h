#pragma once

#include "common/api/api_text.h"
#include "common/base/result.h"
#include "common/kube/client.h"

#include "programs/sluice/commands/verb.h"
#include <span>
#include <string>
#include <string_view>

// What of a browser's requests goes to a cluster's autoscaler, and what an API server's refusals
// mean, decided from values alone.
namespace sluice::commands {

/// The autoscaler of a cluster, as the chart makes its Service.
inline constexpr std::string_view kAutoscalerSpace = "sluice-system";
inline constexpr std::string_view kAutoscalerService = "autoscaler";
inline constexpr std::string_view kAutoscalerPort = "8082";

/// A request of a program on this machine.
struct PageRequest {
  std::string_view method;
  std::string_view authority;  ///< Host
  std::string_view target;
  /// According to the kernel, root or our own user holds its end.
  bool own_user = false;
  bool plain = true;  ///< it has no body and asks for no other protocol
};

/// The path below which the API server passes requests on to the autoscaler in namespace `space`.
[[nodiscard]] std::string proxy_path(std::string_view space);

/// The target below proxy_path() for a request that may pass, or why it may not: one that only
/// reads, at a loopback name, the page or its API. No part of it is `.` or `..`, or has a slash.
[[nodiscard]] Result<std::string, http::ApiProblem> passed_target(const PageRequest& request);

/// Fields of a request that pass: no cookie, and no credentials but ours.
[[nodiscard]] std::span<const std::string_view> passed_fields();

/// What it means that the API server has answered with `status` itself, without the autoscaler.
[[nodiscard]] http::ApiProblem no_answer_of_autoscaler(int status, std::string_view space);

/// The same for a look at the autoscaler before anything is served. `server`: how the API server is
/// reached, for people.
[[nodiscard]] Failure no_autoscaler(const kube::Failure& failure, std::string_view space,
                                    std::string_view server);

}  // namespace sluice::commands
