#pragma once

#include "common/scaling/scaling_spec.h"

#include <array>
#include <chrono>
#include <random>

namespace sluice::autoscaler {

/// One of the values.
template <class... Values>
auto one_of(std::mt19937_64& random, Values... values) {
  const std::array all{values...};
  return all[random() % all.size()];
}

/// Settings with every rule of the decider on in some draws and off in others.
inline ScalingSpec drawn_spec(std::mt19937_64& random) {
  using std::chrono::seconds;
  ScalingSpec spec;
  spec.decider.target_value = one_of(random, 1.0, 7.0, 70.0);
  spec.decider.total_value = spec.decider.target_value / 0.7;
  spec.decider.metric = one_of(random, ScalingMetric::concurrency, ScalingMetric::rps);
  spec.decider.aggregation = one_of(random, Aggregation::linear, Aggregation::weighted);
  spec.decider.target_burst_capacity = one_of(random, -1.0, 0.0, 20.0, 211.0);
  spec.decider.has_scrape_target = spec.decider.target_burst_capacity != -1;
  spec.decider.stable_window = seconds{one_of(random, 6, 60, 90)};
  spec.decider.panic_window = seconds{one_of(random, 1, 6)};
  spec.decider.scale_down_delay = seconds{one_of(random, 0, 0, 30)};
  spec.decider.activation_scale = one_of(random, 0, 3);
  spec.bounds.min = one_of(random, 0, 0, 2);
  spec.zero.retention = seconds{one_of(random, 0, 20)};
  return spec;
}

}  // namespace sluice::autoscaler
