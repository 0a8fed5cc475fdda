#pragma once

#include <string>
#include <string_view>

// The sidecar as a container of a pod.
namespace sluice::kube {

/// The name of the container, of ours and of Knative's.
inline constexpr std::string_view kSidecarContainer = "queue-proxy";

/// What an injected sidecar asks for, unless settings of the injector say otherwise: quantities of
/// Kubernetes; empty: none.
struct SidecarResources {
  std::string cpu_request = "25m";
  std::string memory_request = "16Mi";
  std::string cpu_limit;
  std::string memory_limit;
};

}  // namespace sluice::kube
