#pragma once

#include "autoscaler/core/decision/decision_record.h"
#include "common/scaling/scaling_spec.h"
#include "common/time/time_point.h"

#include <cstdint>
#include <optional>
#include <string_view>

namespace sluice::autoscaler {

/// Whether a revision serves: the Active condition of its PodAutoscaler.
enum class Activity {
  inactive,    ///< False: nothing runs or the last pod is going
  activating,  ///< Unknown: pods are wanted and not there yet
  active,      ///< True
};

[[nodiscard]] std::string_view name(Activity activity);

/// What one call of the scaler looks at (autoscaler.md 8.3).
struct ScalerView {
  std::int32_t desired = -1;  ///< the decider's number, -1 = unknown
  std::int32_t replicas = 0;  ///< replicas in the spec of the scale target now
  Activity activity = Activity::activating;
  Duration activity_for{0};  ///< how long it has been so
  bool initialized = false;  ///< the initial scale was reached once
  RouteMode route_mode = RouteMode::proxy;
  /// How long traffic has been going through activators; absent: it does not, or no probe has
  /// confirmed it. Duration::max() where it always does.
  std::optional<Duration> proxy_for;
  /// The activator's answer to a probe; absent: not probed yet.
  std::optional<bool> probe_ok;
};

/// What to do.
struct ScalerPlan {
  std::int32_t want = -1;             ///< the scale to report, -1 = unknown
  std::optional<std::int32_t> write;  ///< replicas to write; absent: leave them
  std::optional<Duration> requeue;    ///< look again after this long
  bool probe = false;        ///< the plan depends on the activator's probe: probe, then call again
  bool probe_later = false;  ///< the probe failed: keep probing, then look again
  bool timed_out = false;    ///< pods did not become ready within the progress deadline
  Bound bound_by = Bound::none;  ///< the rule that changed the number, if one did
};

/// Bounds, then the two steps to zero: first inactive with traffic through the activators, and only
/// after proof of that, no pods. Pure; `view` carries the probe's answer once it is known.
[[nodiscard]] ScalerPlan plan_scale(const ScalingSpec& spec, const ScalerView& view);

/// The Active condition and whether the initial scale was reached (autoscaler.md 8.2).
struct ActivityView {
  Activity activity = Activity::activating;
  bool initialized = false;
  bool service_name_set = true;
  std::int32_t want = -1;
  std::int32_t ready = 0;
};

struct ActivityChange {
  std::int32_t threshold = 1;  ///< ready pods needed to be active
  Activity activity = Activity::activating;
  bool initialized = false;
  bool marked = true;       ///< false: the condition is not touched, not even its reason
  std::string_view reason;  ///< "TimedOut", "NoTraffic", "Queued" or empty
};

[[nodiscard]] ActivityChange next_activity(const ScalingSpec& spec, const ActivityView& view);

/// The scale to show in a status: an unknown one (-1) never hides a number that is known
/// (autoscaler.md 8.1, step 8).
[[nodiscard]] std::int32_t reported_scale(std::int32_t want, std::int32_t reported);

/// Serve only with pods wanted and burst capacity to spare (autoscaler.md 8.1, step 4). From
/// `present` proxy the spare capacity must reach `hysteresis` requests first; the way back to proxy
/// is taken as soon as there is none. With a hysteresis of 0 `present` does not matter, as in the
/// reference.
[[nodiscard]] RouteMode route_mode(std::int32_t want, std::int32_t excess_burst_capacity,
                                   RouteMode present, double hysteresis);

}  // namespace sluice::autoscaler
