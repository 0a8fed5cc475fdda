#pragma once

#include "injector/patch/pod_facts.h"

namespace sluice::injector {

/// The container to add.
[[nodiscard]] Json sidecar_container(const Json& pod, const PodFacts& facts, const PodOwner& owner,
                                     const InjectionSettings& settings);

/// The readiness of the app as the sidecar is to probe it (queue-proxy.md 10): value of
/// SERVING_READINESS_PROBE, and how kubelet is to probe the sidecar.
struct ReadinessCopy {
  std::string variable;
  Json kubelet;
};

[[nodiscard]] ReadinessCopy readiness_copy(const PodFacts& facts);

}  // namespace sluice::injector
