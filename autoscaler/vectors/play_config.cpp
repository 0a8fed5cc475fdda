#include "autoscaler/vectors/case_values.h"
#include "autoscaler/vectors/players.h"
#include "common/scaling/annotations.h"
#include "common/scaling/cluster_config.h"

#include <nlohmann/json.hpp>

#include <stdexcept>

namespace sluice::vectors {
namespace {

using nlohmann::json;

autoscaler::ClusterConfig accepted_config(const json& item) {
  const auto config = autoscaler::parse_cluster_config(strings(item, "config"));
  if (!config) throw std::runtime_error("config: " + config.error().text());
  return *config;
}

void compare_config(const json& want, const autoscaler::ClusterConfig& got, Expect& expect) {
  const auto number = [&](const char* key, double value) {
    expect.near(key, value_of(want, key), value, kFloating);
  };
  number("activator_capacity", got.activator_capacity);
  number("container_concurrency_target_default", got.container_concurrency_target_default);
  number("container_concurrency_target_fraction", got.container_concurrency_target_fraction);
  number("max_scale_down_rate", got.max_scale_down_rate);
  number("max_scale_up_rate", got.max_scale_up_rate);
  number("panic_threshold_percentage", got.panic_threshold_percentage);
  number("panic_window_percentage", got.panic_window_percentage);
  number("rps_target_default", got.rps_target_default);
  number("target_burst_capacity", got.target_burst_capacity);
  number("target_utilization", got.target_utilization);
  number("scale_down_delay_s", to_seconds(got.scale_down_delay));
  number("scale_to_zero_grace_period_s", to_seconds(got.scale_to_zero_grace_period));
  number("scale_to_zero_pod_retention_period_s",
         to_seconds(got.scale_to_zero_pod_retention_period));
  number("stable_window_s", to_seconds(got.stable_window));
  expect.equal("allow_zero_initial_scale", value_of(want, "allow_zero_initial_scale"),
               got.allow_zero_initial_scale);
  expect.equal("enable_scale_to_zero", value_of(want, "enable_scale_to_zero"),
               got.enable_scale_to_zero);
  expect.equal("initial_scale", value_of(want, "initial_scale"), got.initial_scale);
  expect.equal("max_scale", value_of(want, "max_scale"), got.max_scale);
  expect.equal("max_scale_limit", value_of(want, "max_scale_limit"), got.max_scale_limit);
  expect.equal("min_scale", value_of(want, "min_scale"), got.min_scale);
  expect.equal("pod_autoscaler_class", value_of(want, "pod_autoscaler_class"),
               got.pod_autoscaler_class);
}

}  // namespace

void play_config_map(const json& item, Expect& expect) {
  const auto config = autoscaler::parse_cluster_config(strings(item, "data"));
  expect.equal("accepted", value_of(item, "accepted"), config.has_value());
  if (expect.failed() || !config) return;
  expect.within("parsed.");
  compare_config(object_of(item, "parsed"), *config, expect);
}

void play_annotations(const json& item, Expect& expect) {
  const auto problems =
      autoscaler::check_annotations(strings(item, "annotations"), accepted_config(item));
  expect.equal("accepted", value_of(item, "accepted"), problems.empty());
}

void play_resolve(const json& item, Expect& expect) {
  const autoscaler::ScalingSpec got =
      autoscaler::resolve(accepted_config(item), strings(item, "annotations"),
                          long_count(item, "container_concurrency"), reachability(item));
  const autoscaler::DeciderSpec& decider = got.decider;
  const json& want = object_of(item, "want");
  const bool linear = decider.aggregation == autoscaler::Aggregation::linear;
  const bool rps = decider.metric == autoscaler::ScalingMetric::rps;
  const auto number = [&](const char* key, double value) {
    expect.near(key, value_of(want, key), value, kFloating);
  };
  expect.within("want.");
  expect.equal("scaling_metric", value_of(want, "scaling_metric"), rps ? "rps" : "concurrency");
  expect.equal("aggregation", value_of(want, "aggregation"),
               linear ? "linear" : "weighted-exponential");
  number("target_value", decider.target_value);
  number("total_value", decider.total_value);
  number("target_burst_capacity", decider.target_burst_capacity);
  number("activator_capacity", decider.activator_capacity);
  number("max_scale_up_rate", decider.max_scale_up_rate);
  number("max_scale_down_rate", decider.max_scale_down_rate);
  number("panic_threshold", decider.panic_threshold);
  number("stable_window_s", to_seconds(decider.stable_window));
  number("panic_window_s", to_seconds(decider.panic_window));
  number("scale_down_delay_s", to_seconds(decider.scale_down_delay));
  expect.equal("initial_scale", value_of(want, "initial_scale"), decider.initial_scale);
  expect.equal("activation_scale", value_of(want, "activation_scale"), decider.activation_scale);
  expect.equal("reachable", value_of(want, "reachable"), decider.reachable);
  expect.equal("has_scrape_target", value_of(want, "has_scrape_target"), decider.has_scrape_target);
  expect.equal("min_scale", value_of(want, "min_scale"), got.bounds.min);
  expect.equal("max_scale", value_of(want, "max_scale"), got.bounds.max);
}

}  // namespace sluice::vectors
