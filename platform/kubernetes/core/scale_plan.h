#pragma once

#include "autoscaler/core/decision/scale_order.h"
#include "common/kube/objects.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace sluice::autoscaler {

/// A pod of a target, as far as scaling looks at it.
struct ScalePod {
  std::string name;
  bool terminating = false;
  std::int32_t deletion_cost = 0;
};

/// What is written to a workload and its pods, in this order: costs first.
struct ScalePlan {
  struct Cost {
    std::string pod;
    std::optional<std::int32_t> cost;  ///< absent: ours is taken back

    friend bool operator==(const Cost&, const Cost&) = default;
  };

  std::vector<Cost> costs;
  std::optional<std::int32_t> replicas;  ///< absent: the present number is right, or not yet wrong
  bool waits_for_costs = false;          ///< lowering continues once the costs are in force

  friend bool operator==(const ScalePlan&, const ScalePlan&) = default;
};

/// Our costs: no other scale reaches so low, so a cost that a user set is never taken for ours.
inline constexpr std::int32_t kCostLeast = -1'000'000'000;
inline constexpr std::int32_t kCostMost = kCostLeast + 100'000;

/// The steps from what a workload has to what was ordered. Up: at once. Down: only by pods that the
/// order releases, which are made the cheapest first, so that the controller removes those; and by
/// replicas that have no pod at all. Pods outside `pods` have no sidecar, so their load is unknown:
/// they are never removed by lowering.
[[nodiscard]] ScalePlan plan_replicas(const kube::Workload& workload,
                                      const std::vector<ScalePod>& pods, const ScaleOrder& order);

}  // namespace sluice::autoscaler
