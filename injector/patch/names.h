#pragma once

#include "common/kube/sidecar.h"

#include <string_view>

// What injection writes into pods and reads from them (ecosystem.md 3.3).
namespace sluice::injector {

inline constexpr std::string_view kContainer = kube::kSidecarContainer;

// Label of a pod that gets the sidecar, "true", or does not, "false".
inline constexpr std::string_view kInjectLabel = "sluice.dev/inject";

inline constexpr std::string_view kInjected = "sluice.dev/injected";
// What stood there before, where taking the sidecar out again could not know.
inline constexpr std::string_view kBefore = "sluice.dev/before-injection";

inline constexpr std::string_view kPort = "sluice.dev/port";
inline constexpr std::string_view kConcurrency = "sluice.dev/concurrency";
inline constexpr std::string_view kTimeout = "sluice.dev/timeout-seconds";
inline constexpr std::string_view kConfig = "sluice.dev/config";
inline constexpr std::string_view kServingPort = "sluice.dev/serving-port";
inline constexpr std::string_view kAdminPort = "sluice.dev/admin-port";
inline constexpr std::string_view kMetricsPort = "sluice.dev/metrics-port";

// Of a Service whose target ports were turned to the sidecar.
inline constexpr std::string_view kTargetPorts = "sluice.dev/original-target-ports";

inline constexpr std::string_view kDrainPath = "/wait-for-drain";

}  // namespace sluice::injector
