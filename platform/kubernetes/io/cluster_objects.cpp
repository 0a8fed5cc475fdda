#include "platform/kubernetes/io/cluster_objects.h"

#include <algorithm>

namespace sluice::autoscaler {

ClusterObjects::ClusterObjects(const kube::Place& place)
    : deployments{place, {.path = "/apis/apps/v1/deployments"}, kube::decode_workload},
      services{place, {.path = "/api/v1/services"}, kube::decode_service} {}

void ClusterObjects::start() {
  deployments.start();
  services.start();
}

bool all_known(const FollowedStates& states) {
  return std::all_of(states.begin(), states.end(),
                     [](const auto& each) { return each.second->synced; });
}

std::vector<std::string> not_followed(const FollowedStates& states) {
  std::vector<std::string> all;
  for (const auto& [what, state] : states) {
    if (state->problem.empty() && state->synced) continue;
    all.push_back(std::string{what} + ": " +
                  (state->problem.empty() ? "not known yet" : state->problem));
  }
  return all;
}

}  // namespace sluice::autoscaler
