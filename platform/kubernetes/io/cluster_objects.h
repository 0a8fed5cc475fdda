#pragma once

#include "common/kube/informer.h"
#include "common/kube/objects.h"
#include "common/kube/place.h"

#include <string>
#include <utility>
#include <vector>

namespace sluice::autoscaler {

/// What both platforms of a cluster read, followed once. Pods are not among them: each platform
/// follows those with a label of its own, and no selector means "this label or that one". No turn
/// of the loop comes between the end of a platform and the end of this.
struct ClusterObjects {
  explicit ClusterObjects(const kube::Place& place);

  void start();

  kube::Informer<kube::Workload> deployments;
  kube::Informer<kube::Service> services;
};

/// How following goes, collection by collection, each under the name that people read.
using FollowedStates = std::vector<std::pair<const char*, const kube::Reflector::State*>>;

[[nodiscard]] bool all_known(const FollowedStates& states);

/// Those that are not followed right now, and why.
[[nodiscard]] std::vector<std::string> not_followed(const FollowedStates& states);

}  // namespace sluice::autoscaler
