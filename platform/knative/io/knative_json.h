#pragma once

#include "common/base/ids.h"
#include "common/kube/client.h"

#include "platform/knative/core/pod_autoscaler_plan.h"
#include <optional>
#include <string>
#include <string_view>

// Knative's two kinds as the API server has them, and what we write there.
namespace sluice::autoscaler {

inline constexpr std::string_view kPodAutoscalerGroup =
    "/apis/autoscaling.internal.knative.dev/v1alpha1";
inline constexpr std::string_view kServerlessGroup =
    "/apis/networking.internal.knative.dev/v1alpha1";

/// Names the revision of a pod, of a Deployment and of its pod template.

/// Absent: it is no such object.
[[nodiscard]] std::optional<PodAutoscaler> decode_pod_autoscaler(std::string_view json);
[[nodiscard]] std::optional<ServerlessObject> decode_serverless(std::string_view json);

[[nodiscard]] std::string pod_autoscaler_path(const RevisionId& id);
[[nodiscard]] std::string serverless_path(const RevisionId& id);

/// With the labels and annotations of its owner, as Knative makes it.
[[nodiscard]] kube::Request create_serverless_request(const RevisionId& id,
                                                      const PodAutoscaler& owner,
                                                      const ServerlessWish& wish);

/// Only of the very object that was looked at.
[[nodiscard]] kube::Request correct_serverless_request(const RevisionId& id,
                                                       const PodAutoscaler& owner,
                                                       const ServerlessObject& present,
                                                       const ServerlessWish& wish);

[[nodiscard]] kube::Request pod_autoscaler_status_request(const RevisionId& id,
                                                          const PodAutoscaler& object,
                                                          const PodAutoscaler::Status& status);

}  // namespace sluice::autoscaler
