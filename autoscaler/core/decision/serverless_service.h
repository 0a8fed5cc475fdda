#pragma once

#include "autoscaler/core/decision/decision_record.h"
#include "common/time/time_point.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace sluice::autoscaler {

/// What decides where the requests of one revision are sent (autoscaler.md 9).
struct ServerlessView {
  std::string name;                   ///< of the serverless service; activators are chosen by it
  RouteMode mode = RouteMode::proxy;  ///< the mode in its spec
  std::int32_t activators = 0;        ///< how many are in front of it; 0 = all
  std::vector<std::string> pods;      ///< ready addresses of the private service
  std::vector<std::string> all_activators;  ///< ready addresses of the activator service
  /// ServerlessPlan::proxied_since of the plan before; absent at first.
  std::optional<TimePoint> proxied_since;
};

/// Where they are sent, and what is said about it.
struct ServerlessPlan {
  RouteMode mode = RouteMode::proxy;   ///< the effective one
  std::vector<std::string> addresses;  ///< endpoints of the public service
  /// EndpointsPopulated, hence Ready: a pod is ready. Otherwise unknown, "NoHealthyBackends".
  bool endpoints_populated = false;
  /// Since when ActivatorEndpointsPopulated holds, the "proxy for" clock of the scaler; absent: it
  /// does not hold.
  std::optional<TimePoint> proxied_since;

  friend bool operator==(const ServerlessPlan&, const ServerlessPlan&) = default;
};

/// Pods when they may be reached straight, otherwise the activators chosen for this name.
[[nodiscard]] ServerlessPlan plan_serverless(ServerlessView view, TimePoint now);

}  // namespace sluice::autoscaler
