#include "programs/sluice/commands/dashboard_rules.h"

#include "common/base/exit_status.h"

#include <fmt/format.h>

#include "programs/sluice/engine/door_access.h"
#include <algorithm>
#include <array>

namespace sluice::commands {
namespace {

constexpr std::size_t kShownMost = 200;
constexpr std::string_view kOtherWay = "use sluice --server with a token, or kubectl";

std::string service_name() {
  return fmt::format("http:{}:{}", kAutoscalerService, kAutoscalerPort);
}

std::string no_right(std::string_view space) {
  return fmt::format("this needs the right to get services/proxy of {} in the namespace {}",
                     service_name(), space);
}

std::string give_right(std::string_view space) {
  return fmt::format(
      "give it: kubectl -n {} create role sluice-dashboard --verb=get --resource=services/proxy "
      "--resource-name={}, and a rolebinding to it",
      space, service_name());
}

std::string no_service(std::string_view space) {
  return fmt::format("there is no Service {} in the namespace {}", kAutoscalerService, space);
}

std::string no_pod(std::string_view space) {
  return fmt::format("no pod of the Service {} in the namespace {} answers", kAutoscalerService,
                     space);
}

std::string see_pods(std::string_view space) {
  return fmt::format("see kubectl -n {} get pods", space);
}

constexpr std::string_view kGiveNamespace = "give its namespace with --namespace";
constexpr std::string_view kGiveCredentials =
    "log in again, or give another kubeconfig or context with --kubeconfig or --context";

bool is_part(const std::string& part) {
  return part != "." && part != ".." && std::none_of(part.begin(), part.end(), [](char c) {
           return c == '/' || c == '\\' || static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
         });
}

bool is_query(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c <= '~'; });
}

// A file of the page, or something of its API.
bool is_served(const std::vector<std::string>& path) {
  if (!std::all_of(path.begin(), path.end(), is_part)) return false;
  return path.size() <= 1 || (path[0] == "api" && path[1] == "v1");
}

}  // namespace

std::string proxy_path(std::string_view space) {
  return fmt::format("/api/v1/namespaces/{}/services/{}/proxy", space, service_name());
}

Result<std::string, http::ApiProblem> passed_target(const PageRequest& request) {
  if (!local::names_loopback(request.authority) && !local::names_engine(request.authority)) {
    return http::ApiProblem{403, "host-not-allowed", "Host not allowed",
                            "this address does not answer to the Host " +
                                std::string{request.authority.substr(0, kShownMost)},
                            "use the link that sluice dashboard has printed"};
  }
  if (!request.own_user) {
    return http::ApiProblem{403, "own-user-only", "For one user only",
                            "the cluster is read with the rights of the user who has started "
                            "sluice dashboard",
                            "run sluice dashboard as your own user"};
  }
  if (request.method != "GET" && request.method != "HEAD") {
    return http::ApiProblem{403, "read-only", "Read-only",
                            "nothing is changed through sluice dashboard", std::string{kOtherWay}};
  }
  if (!request.plain) {
    return http::ApiProblem{400, "not-plain", "Not a plain request",
                            "a request here has no body and asks for no other protocol",
                            "send a plain GET"};
  }
  const auto target = http::parse_target(request.target);
  if (!target) return target.error();
  const std::size_t mark = std::min(request.target.find('?'), request.target.size());
  const std::string_view query = request.target.substr(mark);
  if (!request.target.starts_with('/') || !is_served(target->path) || !is_query(query)) {
    return http::no_such_path(request.target.substr(0, std::min(mark, kShownMost)),
                              "the page is at /");
  }
  std::string passed;
  for (const std::string& part : target->path) passed += "/" + url_encoded(part);
  return (passed.empty() ? "/" : passed) + std::string{query};
}

std::span<const std::string_view> passed_fields() {
  static constexpr std::array<std::string_view, 6> kFields{"Accept",          "Accept-Encoding",
                                                           "Accept-Language", "Cache-Control",
                                                           "If-None-Match",   "Last-Event-ID"};
  return kFields;
}

http::ApiProblem no_answer_of_autoscaler(int status, std::string_view space) {
  switch (status) {
    case 401:
      return {502, "not-logged-in", "Not logged in",
              "the API server does not accept these credentials any more",
              std::string{kGiveCredentials}};
    case 403:
      return {502, "no-right", "No right", "the API server refuses this user; " + no_right(space),
              give_right(space)};
    case 404:
      return {502, "no-such-service", "No such Service", no_service(space),
              "see kubectl get services --all-namespaces, and start again with --namespace"};
    case 502:
    case 503:
    case 504:
      return {503, "no-pod", "No pod answers", no_pod(space), see_pods(space)};
    default:
      return {502, "no-autoscaler", "No autoscaler",
              fmt::format("what answered with {} is no autoscaler of Sluice", status),
              std::string{kGiveNamespace}};
  }
}

Failure no_autoscaler(const kube::Failure& failure, std::string_view space,
                      std::string_view server) {
  using Kind = kube::Failure::Kind;
  const std::string told = failure.text();
  if (failure.kind == Kind::unreachable || failure.kind == Kind::timed_out) {
    return {kExitUnavailable,
            fmt::format("{} ({}); see that it runs and that the kubeconfig has its address and "
                        "certificate authority, or give another kubeconfig or context with "
                        "--kubeconfig or --context",
                        told, server)};
  }
  // A refusal of the API server's own is a Status with a reason; the autoscaler has none.
  const bool own = failure.kind == Kind::refused && !failure.reason.empty();
  // The Service is there, and what lists its pods is not.
  const bool no_list = failure.status == 404 && failure.message.starts_with("endpoints");
  switch (no_list ? 503 : own ? failure.status : 0) {
    case 401:
      return {kExitFailure, fmt::format("{} ({}); {}", told, server, kGiveCredentials)};
    case 403:
      return {kExitFailure, fmt::format("{}; {}; {}", told, no_right(space), give_right(space))};
    case 404:
      return {kExitFailure, fmt::format("{} ({}); {}", no_service(space), server, kGiveNamespace)};
    case 502:
    case 503:
    case 504:
      return {kExitUnavailable,
              fmt::format("{}: {}; {}", no_pod(space), failure.message, see_pods(space))};
    default:
      return {kExitFailure,
              fmt::format("what the API server at {} leads to in the namespace {} is no autoscaler "
                          "of Sluice: {}; {}",
                          server, space, told, kGiveNamespace)};
  }
}

}  // namespace sluice::commands
