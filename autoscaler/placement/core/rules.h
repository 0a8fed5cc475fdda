#pragma once

#include "autoscaler/placement/core/home.h"
#include "autoscaler/placement/core/moves.h"
#include "autoscaler/placement/core/planner.h"
#include "autoscaler/placement/core/policy.h"

#include <vector>

namespace sluice::placement {

/// Which services are moved, and how much (`placement` in config.yaml).
struct Rules {
  std::vector<MigrationPolicy> policies{};  ///< the first that names a cause decides
  PlanLimits plan{};
  HomeLimits home{};
  MoveLimits moves{};
};

}  // namespace sluice::placement
