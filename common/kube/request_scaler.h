#pragma once

#include "common/kube/objects.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::kube {

inline constexpr std::string_view kRequestScalers =
    "/apis/autoscaling.sluice.dev/v1alpha1/requestscalers";

/// The port that stands for a RequestScaler on every activator is one of these (protocols.md 6).
inline constexpr std::uint16_t kActivatorPortFirst = 20'000;
inline constexpr std::uint16_t kActivatorPortLast = 29'999;

[[nodiscard]] constexpr bool is_activator_port(std::int64_t port) {
  return port >= kActivatorPortFirst && port <= kActivatorPortLast;
}

/// One condition of a status, as in metav1.Condition.
struct Condition {
  std::string type;
  std::string status;  ///< "True", "False", "Unknown"
  std::string reason;
  std::string message;
  std::string last_transition_time;  ///< RFC 3339
  std::int64_t observed_generation = 0;

  friend bool operator==(const Condition&, const Condition&) = default;
};

/// What a user writes to have a Deployment scaled by its requests (ecosystem.md 6.3). Values are as
/// the schema lets them through; a key that is absent takes the cluster's configuration.
struct RequestScaler {
  struct Target {
    std::string api_version;
    std::string kind;
    std::string name;

    friend bool operator==(const Target&, const Target&) = default;
  };

  struct ServicePort {
    std::string name;
    std::uint16_t port = 0;

    friend bool operator==(const ServicePort&, const ServicePort&) = default;
  };

  struct ServiceSpec {
    std::string name;  ///< empty: the scaler's own name
    std::string port;  ///< name of the port that carries requests; empty: all
    std::vector<ServicePort> ports;
    bool adopt = false;

    friend bool operator==(const ServiceSpec&, const ServiceSpec&) = default;
  };

  std::string uid;
  std::int64_t generation = 0;
  bool terminating = false;
  std::vector<std::string> finalizers;
  StringMap annotations;
  Target target;
  std::optional<std::int32_t> replicas;  ///< chosen by a user; absent: the load decides
  ServiceSpec service;
  std::int32_t container_concurrency = 0;
  std::int32_t timeout_seconds = 300;
  std::int32_t response_start_timeout_seconds = 0;
  std::int32_t idle_timeout_seconds = 0;
  std::string protocol;  ///< "http1" (also when empty) or "h2c"
  /// spec.autoscaling as `autoscaling.knative.dev/` annotations: already merged over `annotations`,
  /// since a spec key wins.
  StringMap scaling;
  std::vector<std::string> ignore_paths;
  std::vector<std::string> ignore_user_agents;
  bool has_signals = false;

  struct Status {
    std::int64_t observed_generation = 0;
    std::int32_t activator_port = 0;  ///< 0: none yet
    std::int32_t desired = -1;
    std::int32_t granted = -1;
    std::int32_t ready = -1;
    std::vector<Condition> conditions;

    friend bool operator==(const Status&, const Status&) = default;
  };

  Status status;

  friend bool operator==(const RequestScaler&, const RequestScaler&) = default;
};

[[nodiscard]] std::optional<RequestScaler> decode_request_scaler(std::string_view json);

}  // namespace sluice::kube
