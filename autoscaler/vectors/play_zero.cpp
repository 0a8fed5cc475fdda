#include "autoscaler/core/annotations.h"
#include "autoscaler/core/scale_to_zero.h"
#include "autoscaler/vectors/case_values.h"
#include "autoscaler/vectors/players.h"

#include <nlohmann/json.hpp>

#include <cmath>
#include <stdexcept>

namespace sluice::vectors {
namespace {

using nlohmann::json;

autoscaler::Activity activity_of(const json& name) {
  const auto text = name.get<std::string>();
  if (text == "active") return autoscaler::Activity::active;
  if (text == "activating") return autoscaler::Activity::activating;
  if (text == "inactive") return autoscaler::Activity::inactive;
  throw std::runtime_error("unknown state " + text);
}

autoscaler::ClusterConfig config_of(const json& item) {
  autoscaler::ClusterConfig config;
  config.allow_zero_initial_scale = item.at("allow_zero_initial_scale").get<bool>();
  config.enable_scale_to_zero = item.at("enable_scale_to_zero").get<bool>();
  config.initial_scale = item.at("initial_scale").get<std::int32_t>();
  config.progress_deadline = seconds_of(item, "progress_deadline_s");
  config.scale_to_zero_grace_period = seconds_of(item, "scale_to_zero_grace_period_s");
  config.scale_to_zero_pod_retention_period =
      seconds_of(item, "scale_to_zero_pod_retention_period_s");
  config.stable_window = seconds_of(item, "stable_window_s");
  config.target_burst_capacity = item.at("target_burst_capacity").get<double>();
  return config;
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
  const autoscaler::ActivityChange got = autoscaler::next_activity(
      spec, {.activity = activity_of(item.at("state")),
             .initialized = item.at("scale_target_initialized").get<bool>(),
             .service_name_set = item.at("service_name_set").get<bool>(),
             .want = item.at("want_scale").get<std::int32_t>(),
             .ready = item.at("ready_pods").get<std::int32_t>()});
  const json& want = item.at("expect");
  expect.within("expect.");
  expect.equal("threshold", want.at("threshold"), got.threshold);
  expect.equal("state", want.at("state"), std::string{autoscaler::name(got.activity)});
  expect.equal("reason", want.at("reason"),
               got.marked ? std::string{got.reason} : std::string{"(unchanged)"});
  expect.equal("scale_target_initialized", want.at("scale_target_initialized"), got.initialized);
}

void play_scale_to_zero(const json& item, Expect& expect) {
  const autoscaler::ScalingSpec spec = autoscaler::resolve(
      config_of(item.at("config")), strings(item, "annotations"), 0, reachability(item));
  const bool proxy = item.at("sks_mode").get<std::string>() == "Proxy";
  autoscaler::ScalerView view{
      .desired = item.at("desired_scale").get<std::int32_t>(),
      .replicas = item.at("current_replicas").get<std::int32_t>(),
      .activity = activity_of(item.at("pa_state")),
      .activity_for = seconds_of(item, "pa_state_for_s"),
      .initialized = item.at("scale_target_initialized").get<bool>(),
      .route_mode = proxy ? autoscaler::RouteMode::proxy : autoscaler::RouteMode::serve,
      .proxy_for = seconds_of(item, "sks_proxy_for_s"),
      .probe_ok = std::nullopt};
  autoscaler::ScalerPlan got = autoscaler::plan_scale(spec, view);
  const bool probed = got.probe;
  if (probed) {
    view.probe_ok = item.at("activator_probe").get<std::string>() == "ok";
    got = autoscaler::plan_scale(spec, view);
  }

  const json& want = item.at("expect");
  expect.within("expect.");
  expect.equal("returned_scale", want.at("returned_scale"), got.want);
  expect.equal("applied_replicas", want.at("applied_replicas"),
               got.write ? json(*got.write) : json(nullptr));
  const json& requeue = want.at("requeue_after_s");
  expect.equal("requeue_after_s", requeue.is_null() ? json::array() : requeue,
               requeue_seconds(got.requeue));
  expect.equal("sync_probe_called", want.at("sync_probe_called"), probed);
  expect.equal("async_probe_started", want.at("async_probe_started"), got.probe_later);
}

}  // namespace sluice::vectors
