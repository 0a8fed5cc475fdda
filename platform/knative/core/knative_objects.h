#pragma once

#include "common/kube/objects.h"
#include "common/kube/request_scaler.h"
#include "common/scaling/scaling_spec.h"
#include "common/time/time_point.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// The two kinds of Knative through which its autoscaler speaks with the rest of it, with the fields
// that we use (autoscaler.md 8, 9). Versions of objects are not among them: they change with every
// write of our own.
namespace sluice::autoscaler {

/// Which autoscaler scales a revision, by its PodAutoscaler.
inline constexpr std::string_view kClassAnnotation = "autoscaling.knative.dev/class";

/// What a revision's pods are scaled by: apiVersion, kind and name of a Deployment.
struct KnativeTarget {
  std::string api_version;
  std::string kind;
  std::string name;

  friend bool operator==(const KnativeTarget&, const KnativeTarget&) = default;
};

/// Made by Knative's controller for each revision, under the revision's name; its autoscaler writes
/// the status.
struct PodAutoscaler {
  /// Absent numbers are unknown.
  struct Status {
    std::int64_t observed_generation = 0;
    std::string service_name;
    std::string metrics_service_name;
    std::optional<std::int32_t> desired;
    std::optional<std::int32_t> actual;
    std::vector<kube::Condition> conditions;

    friend bool operator==(const Status&, const Status&) = default;
  };

  std::string uid;
  std::int64_t generation = 0;
  bool terminating = false;
  kube::StringMap labels;
  kube::StringMap annotations;
  KnativeTarget target;
  std::int32_t container_concurrency = 0;
  std::string protocol;  ///< "http1" (also when empty) or "h2c"
  Reachability reachability = Reachability::unknown;
  Status status;

  friend bool operator==(const PodAutoscaler&, const PodAutoscaler&) = default;
};

/// ServerlessService: where the requests of a revision go. The revision's autoscaler writes the
/// spec; Knative's controller makes the Services and reports progress in the status.
struct ServerlessObject {
  std::string uid;
  std::int64_t generation = 0;
  kube::OwnerReference owner;
  std::string mode;             ///< "Proxy" or "Serve"
  std::int32_t activators = 0;  ///< 0: all
  KnativeTarget target;
  std::string protocol;

  // Its status.
  std::int64_t observed_generation = 0;
  std::string service_name;  ///< of the public Service
  std::string private_name;  ///< of the private one; empty: not made yet
  bool ready = false;
  std::optional<TimePoint>
      proxied_since;  ///< ActivatorEndpointsPopulated; absent: it does not hold

  friend bool operator==(const ServerlessObject&, const ServerlessObject&) = default;
};

/// The condition of that type; null when there is none.
[[nodiscard]] const kube::Condition* find_condition(const std::vector<kube::Condition>& all,
                                                    std::string_view type);

}  // namespace sluice::autoscaler
