#pragma once

#include <string_view>

namespace sluice {

/// Annotations that more than one part reads: those of the ignore rules (ecosystem.md 3.1) and of
/// the balancing.
inline constexpr std::string_view kIgnorePathsKey = "autoscaling.sluice.dev/ignore-paths";
inline constexpr std::string_view kIgnoreAgentsKey = "autoscaling.sluice.dev/ignore-user-agents";
inline constexpr std::string_view kLoadBalancingKey = "sluice.dev/load-balancing";

}  // namespace sluice
