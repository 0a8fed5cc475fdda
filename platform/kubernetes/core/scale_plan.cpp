#include "platform/kubernetes/core/scale_plan.h"

#include <algorithm>
#include <map>

namespace sluice::autoscaler {
namespace {

bool ours(std::int32_t cost) {
  return cost >= kCostLeast && cost <= kCostMost;
}

std::int32_t cost_of(std::size_t place) {
  constexpr std::size_t kPlaces = kCostMost - kCostLeast;
  return kCostLeast + static_cast<std::int32_t>(std::min(place, kPlaces));
}

}  // namespace

ScalePlan plan_replicas(const kube::Workload& workload, const std::vector<ScalePod>& pods,
                        const ScaleOrder& order) {
  ScalePlan plan;
  std::map<std::string, std::size_t> leaving;
  for (const PodId& pod : order.remove) leaving.emplace(pod.name, leaving.size());

  std::int32_t living = 0;
  std::int32_t may_go = 0;
  for (const ScalePod& pod : pods) {
    if (pod.terminating) continue;
    ++living;
    const auto place = leaving.find(pod.name);
    if (place == leaving.end()) {
      if (ours(pod.deletion_cost)) plan.costs.push_back({pod.name, std::nullopt});
      continue;
    }
    ++may_go;
    // The first cost stays: among those that may all go, a better order is not worth a write.
    if (!ours(pod.deletion_cost)) plan.costs.push_back({pod.name, cost_of(place->second)});
  }

  // All pods leave: none has to be cheaper than another.
  const bool all_go = order.replicas == 0 && may_go == living;
  if (all_go) plan.costs.clear();
  if (order.replicas > workload.replicas) {
    plan.replicas = order.replicas;
    return plan;
  }
  if (order.replicas == workload.replicas) return plan;
  plan.waits_for_costs = std::any_of(plan.costs.begin(), plan.costs.end(),
                                     [](const ScalePlan::Cost& each) { return each.cost; });
  if (plan.waits_for_costs) return plan;
  // Counted from the pods there are: replicas without a pod go freely, and a pod that is still to
  // be removed for what was written before stands for itself, not for another one.
  const std::int32_t least =
      std::max(order.replicas, std::max(workload.status_replicas, living) - may_go);
  if (least < workload.replicas) plan.replicas = least;
  return plan;
}

}  // namespace sluice::autoscaler
