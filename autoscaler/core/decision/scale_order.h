#pragma once

#include "autoscaler/core/decision/decision_record.h"
#include "autoscaler/core/decision/scale_to_zero.h"
#include "autoscaler/placement/core/grant.h"
#include "common/base/ids.h"

#include <cstdint>
#include <string>
#include <vector>

namespace sluice::autoscaler {

/// What a platform that keeps a status shows of a revision.
struct ScaleReport {
  std::int32_t desired = 0;  ///< wanted by load
  std::int32_t granted = 0;  ///< of them there is room for
  std::int32_t ready = 0;
  Activity activity = Activity::activating;
  bool metrics_missing = false;
  bool paused = false;  ///< the number was set by hand; the load does not change it
  Bound bound_by = Bound::none;
  std::string cannot_scale{};  ///< why not all are granted; empty: they are
  std::string start_failed{};  ///< why no replica becomes ready; empty: one is, or may
  std::string why{};           ///< the last decision as a sentence

  friend bool operator==(const ScaleReport&, const ScaleReport&) = default;
};

/// How many replicas of a revision should run, and where its requests go: full desired state. A
/// platform uses as much of it as it can.
struct ScaleOrder {
  std::int32_t replicas = 0;                    ///< that should live
  std::vector<placement::PlaceShare> places{};  ///< where; empty: there is one place only
  std::vector<PodId> remove{};                  ///< may be stopped now, idlest first
  /// Of those, the ones whose requests have had their time: not waited for any more.
  std::vector<PodId> overdue{};
  /// A move leads its requests from some of its replicas to others: no other revision takes its
  /// place before that is over.
  bool shifting = false;
  std::int32_t beside = 0;  ///< of `replicas`, those that a move adds to as many that leave

  // For platforms that route and show a status.
  RouteMode route_mode = RouteMode::proxy;
  std::int32_t activators = 2;       ///< how many are in front of it when any are; 0: all
  std::vector<std::string> avoid{};  ///< addresses of pods that take no new requests
  ScaleReport report{};

  friend bool operator==(const ScaleOrder&, const ScaleOrder&) = default;
};

}  // namespace sluice::autoscaler
