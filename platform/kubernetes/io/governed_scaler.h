#pragma once

#include "autoscaler/core/decision/scale_order.h"
#include "common/time/time_point.h"

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace sluice::autoscaler {

/// The state of a scaler that this replica governs, beyond its object in the API server.
struct GovernedScaler {
  bool told = false;   ///< the scaler has it
  bool news = true;    ///< and has not seen the newest
  TimePoint looked{};  ///< at it, last
  bool large = false;  ///< then it had many pods
  std::optional<ScaleOrder> order;
  std::optional<TimePoint> proxied_since;  ///< the slices to the activators are accepted
  std::vector<std::string> routed;         ///< activators that they name
  bool passed_by = false;                  ///< requests reach its pods without us

  std::optional<std::int32_t> replicas_seen;
  std::optional<std::int32_t> replicas_written;
  std::string scale_object{};  ///< through which they were written

  std::map<std::string, std::string> refused;  ///< writes that are forbidden, and how that was put
  std::set<std::string> failing;               ///< objects whose last write failed
  std::set<std::string> planned;               ///< objects that the last look wanted written
  TimePoint status_written{};
  std::string adopting{};  ///< the Service that was last to be taken over
  TimePoint sweep_due{};
  int sweeps = 0;               ///< that were made to their end
  std::set<std::string> swept;  ///< objects that the present one is done with
  std::string conflict;         ///< that was last published as an event
  bool overloaded = false;      ///< likewise
  std::string start_failed{};   ///< likewise; empty again once a replica is ready
};

}  // namespace sluice::autoscaler
