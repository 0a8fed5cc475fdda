#include "autoscaler/core/decision/scale_to_zero.h"

#include "autoscaler/core/decision/decider.h"

#include <algorithm>

namespace sluice::autoscaler {
namespace {

// A revision may take this much longer than its progress deadline before it is given up.
constexpr Duration kActivationBuffer = std::chrono::seconds{30};
// Look again soon: traffic already goes through the activators, only the condition has to turn.
constexpr Duration kProxyRequeue = std::chrono::seconds{3};

ScalerPlan written(ScalerPlan plan, std::int32_t scale, std::int32_t replicas) {
  plan.want = scale;
  if (scale != replicas) plan.write = scale;
  return plan;
}

ScalerPlan waiting(ScalerPlan plan, std::int32_t want, Duration requeue, Bound bound) {
  plan.want = want;
  plan.requeue = requeue;
  plan.bound_by = bound;
  return plan;
}

ScalerPlan while_activating(const ScalingSpec& spec, const ScalerView& view, ScalerPlan plan) {
  // A deadline may be as long as a duration can be.
  const Duration timeout =
      std::min(spec.zero.progress_deadline, Duration::max() - kActivationBuffer) +
      kActivationBuffer;
  if (view.activity_for > timeout) {
    plan.timed_out = true;
    return written(plan, 0, view.replicas);
  }
  plan.want = -1;
  plan.requeue = timeout;
  return plan;
}

ScalerPlan while_active(const ScalingSpec& spec, const ScalerView& view, ScalerPlan plan) {
  const Duration window = spec.decider.stable_window;
  if (view.activity_for < window) {
    plan = waiting(plan, 1, window - view.activity_for, Bound::stable_window);
    return written(plan, 1, view.replicas);
  }
  plan.want = 0;
  if (view.route_mode == RouteMode::proxy) plan.requeue = kProxyRequeue;
  return plan;
}

ScalerPlan while_inactive(const ScalingSpec& spec, const ScalerView& view, ScalerPlan plan) {
  plan.want = 0;
  // Unlimited burst capacity keeps the activators in the path always: no probe is needed.
  if (spec.decider.target_burst_capacity != -1) {
    plan.probe = true;
    if (!view.probe_ok) return plan;
    if (!*view.probe_ok) {
      plan.probe_later = true;
      return plan;
    }
  }
  const Duration retention = spec.decider.reachable ? spec.zero.retention : Duration{0};
  const Duration grace = spec.zero.grace;
  if (view.activity_for >= std::max(grace, retention)) return written(plan, 0, view.replicas);
  if (view.activity_for < retention) {
    return waiting(plan, 0, retention - view.activity_for, Bound::retention);
  }
  const Duration proxied = view.proxy_for.value_or(Duration{0});
  if (proxied >= grace) return written(plan, 0, view.replicas);
  return waiting(plan, 0, grace - proxied, Bound::grace);
}

}  // namespace

std::string_view name(Activity activity) {
  switch (activity) {
    case Activity::inactive:
      return "inactive";
    case Activity::activating:
      return "activating";
    case Activity::active:
      return "active";
  }
  return "";
}

ScalerPlan plan_scale(const ScalingSpec& spec, const ScalerView& view) {
  ScalerPlan plan;
  const bool activating = view.activity == Activity::activating;
  if (view.desired < 0 && !activating) {
    plan.want = view.desired;
    return plan;
  }

  Bounds bounds = spec.bounds;
  Bound floor = Bound::min_scale;
  const std::int32_t initial = spec.decider.initial_scale;
  if (initial > 1 && !view.initialized && spec.decider.reachable && initial > bounds.min) {
    bounds.min = initial;
    floor = Bound::initial_scale;
  }
  const std::int32_t scale = bounded_scale(view.desired, bounds);
  if (scale > view.desired && scale != 0) plan.bound_by = floor;
  if (scale < view.desired) plan.bound_by = Bound::max_scale;
  if (scale != 0) return written(plan, scale, view.replicas);
  if (!spec.zero.enabled) {
    plan.bound_by = Bound::scale_to_zero_off;
    return written(plan, 1, view.replicas);
  }
  switch (view.activity) {
    case Activity::activating:
      return while_activating(spec, view, plan);
    case Activity::active:
      return while_active(spec, view, plan);
    case Activity::inactive:
      return while_inactive(spec, view, plan);
  }
  return plan;
}

ActivityChange next_activity(const ScalingSpec& spec, const ActivityView& view) {
  ActivityChange change;
  const std::int32_t first = spec.decider.initial_scale;
  change.threshold = std::max(spec.bounds.min, view.initialized ? 1 : first);
  change.initialized =
      view.initialized || (view.ready >= change.threshold && view.service_name_set);
  change.activity = view.activity;

  const auto become = [&change](Activity activity, std::string_view reason) {
    change.activity = activity;
    change.reason = reason;
    return change;
  };
  const bool was_inactive = view.activity == Activity::inactive;
  if (view.want == 0 || change.threshold == 0) {
    const bool timed_out = view.activity == Activity::activating && change.threshold > 0;
    return become(Activity::inactive, timed_out ? "TimedOut" : "NoTraffic");
  }
  if (view.ready < change.threshold) {
    if (view.want > 0 || !was_inactive) return become(Activity::activating, "Queued");
    return become(Activity::inactive, "NoTraffic");
  }
  if (view.want > 0 || !was_inactive) return become(Activity::active, "");
  change.marked = false;
  return change;
}

std::int32_t reported_scale(std::int32_t want, std::int32_t reported) {
  return want < 0 && reported >= 0 ? reported : want;
}

RouteMode route_mode(std::int32_t want, std::int32_t excess_burst_capacity, RouteMode present,
                     double hysteresis) {
  if (want <= 0 || excess_burst_capacity < 0) return RouteMode::proxy;
  if (present == RouteMode::serve) return present;
  return excess_burst_capacity >= hysteresis ? RouteMode::serve : RouteMode::proxy;
}

}  // namespace sluice::autoscaler
