#pragma once

#include <string_view>

// Labels and names of ports by which our programs find objects of each other and of Knative.
namespace sluice::kube {

/// Of a pod with a sidecar: "queue-proxy".
inline constexpr std::string_view kSidecarLabel = "sluice.dev/sidecar";
/// Of the Services and EndpointSlices of a RequestScaler: its name.
inline constexpr std::string_view kScalerLabel = "sluice.dev/scaler";
/// Of the Services and EndpointSlices of Knative: the revision's name.
inline constexpr std::string_view kRevisionLabel = "serving.knative.dev/revision";
/// The sidecar's port for requests, in pods and Services.
inline constexpr std::string_view kQueuePort = "queue-port";

}  // namespace sluice::kube
