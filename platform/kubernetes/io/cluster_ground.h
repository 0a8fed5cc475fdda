#pragma once

#include "common/base/ids.h"
#include "common/kube/place.h"
#include "common/loop/loop.h"
#include "common/scaling/cluster_config.h"

#include "platform/kubernetes/io/cluster_objects.h"
#include <functional>

namespace sluice::autoscaler {

/// What the platforms of a cluster share. All that is referred to outlives it.
struct ClusterGround {
  kube::Place place;
  Loop& loop;
  ClusterObjects& objects;
  const ClusterConfig& config;  ///< that is in force; config_changed() follows each change
  std::function<bool(const RevisionId&)> owns;  ///< this replica scales the revision
  /// Called before anything is written. Calls owners_changed() if `owns` answers otherwise now.
  std::function<void()> confirm;
};

}  // namespace sluice::autoscaler
