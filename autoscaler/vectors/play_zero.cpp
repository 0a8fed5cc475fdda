#include "autoscaler/core/decision/scale_to_zero.h"
#include "autoscaler/vectors/case_values.h"
#include "autoscaler/vectors/players.h"
#include "common/scaling/annotations.h"

#include <nlohmann/json.hpp>

#include <cmath>
#include <stdexcept>

namespace sluice::vectors {
namespace {

using nlohmann::json;

autoscaler::Activity activity_of(const std::string& text) {
  if (text == "active") return autoscaler::Activity::active;
  if (text == "activating") return autoscaler::Activity::activating;
  if (text == "inactive") return autoscaler::Activity::inactive;
  throw std::runtime_error("unknown state " + text);
}

json requeue_seconds(const std::optional<Duration>& requeue) {
  if (!requeue) return json::array();
  return json::array({std::llround(to_seconds(*requeue))});
}

}  // namespace

void play_active_condition(const json& item, Expect& expect) {
  const auto config = autoscaler::parse_cluster_config(strings(item, "config"));
  if (!config) throw std::runtime_error("config: " + config.error().text());
  const autoscaler::ScalingSpec spec =
      autoscaler::resolve(*config, strings(item, "annotations"), 0, reachability(item));
  const autoscaler::ActivityChange got =
      autoscaler::next_activity(spec, {.activity = activity_of(text(item, "state")),
                                       .initialized = flag(item, "scale_target_initialized"),
                                       .service_name_set = flag(item, "service_name_set"),
                                       .want = count(item, "want_scale"),
                                       .ready = count(item, "ready_pods")});
  const json& want = object_of(item, "expect");
  expect.within("expect.");
  expect.equal("threshold", value_of(want, "threshold"), got.threshold);
  expect.equal("state", value_of(want, "state"), std::string{autoscaler::name(got.activity)});
  expect.equal("reason", value_of(want, "reason"),
               got.marked ? std::string{got.reason} : std::string{"(unchanged)"});
  expect.equal("scale_target_initialized", value_of(want, "scale_target_initialized"),
               got.initialized);
}

void play_scale_to_zero(const json& item, Expect& expect) {
  const autoscaler::ScalingSpec spec = autoscaler::resolve(
      zero_config(value_of(item, "config")), strings(item, "annotations"), 0, reachability(item));
  const bool proxy = text(item, "sks_mode") == "Proxy";
  autoscaler::ScalerView view{
      .desired = count(item, "desired_scale"),
      .replicas = count(item, "current_replicas"),
      .activity = activity_of(text(item, "pa_state")),
      .activity_for = seconds_of(item, "pa_state_for_s"),
      .initialized = flag(item, "scale_target_initialized"),
      .route_mode = proxy ? autoscaler::RouteMode::proxy : autoscaler::RouteMode::serve,
      .proxy_for = seconds_of(item, "sks_proxy_for_s"),
      .probe_ok = std::nullopt};
  autoscaler::ScalerPlan got = autoscaler::plan_scale(spec, view);
  const bool probed = got.probe;
  if (probed) {
    view.probe_ok = text(item, "activator_probe") == "ok";
    got = autoscaler::plan_scale(spec, view);
  }

  const json& want = object_of(item, "expect");
  expect.within("expect.");
  expect.equal("returned_scale", value_of(want, "returned_scale"), got.want);
  // None and zero differ here: a null is "nothing written", as an absent key is.
  const json& applied = value_of(want, "applied_replicas");
  expect.equal("applied_replicas", applied.is_null() ? json("none") : applied,
               got.write ? json(*got.write) : json("none"));
  const json& requeue = value_of(want, "requeue_after_s");
  expect.equal("requeue_after_s", requeue.is_null() ? json::array() : requeue,
               requeue_seconds(got.requeue));
  expect.equal("sync_probe_called", value_of(want, "sync_probe_called"), probed);
  expect.equal("async_probe_started", value_of(want, "async_probe_started"), got.probe_later);
}

}  // namespace sluice::vectors
