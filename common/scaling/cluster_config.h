#pragma once

#include "common/base/result.h"
#include "common/scaling/scaling_spec.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace sluice::autoscaler {

/// String keys to string values, as in a ConfigMap or an object's annotations.
using StringMap = std::map<std::string, std::string, std::less<>>;

/// The autoscaler class of Knative, and ours.
inline constexpr const char* kKnativeClass = "kpa.autoscaling.knative.dev";
inline constexpr const char* kOurClass = "kpa.sluice.dev";
inline constexpr const char* kHorizontalClass = "hpa.autoscaling.knative.dev";

/// Defaults and limits for all revisions: the keys of `config-autoscaler` (autoscaler.md 5), after
/// normalisation. The initial values are the documented defaults.
struct ClusterConfig {
  std::string pod_autoscaler_class = kKnativeClass;
  bool enable_scale_to_zero = true;
  bool allow_zero_initial_scale = false;
  double container_concurrency_target_fraction = 0.7;
  double container_concurrency_target_default = 100;
  double target_utilization = 0.7;  ///< used for rps; no key sets it
  double rps_target_default = 200;
  double target_burst_capacity = 211;
  double activator_capacity = 100;
  double max_scale_up_rate = 1000;
  double max_scale_down_rate = 2;
  Duration stable_window = std::chrono::seconds{60};
  double panic_window_percentage = 10;
  double panic_threshold_percentage = 200;
  Duration scale_to_zero_grace_period = std::chrono::seconds{30};
  Duration scale_to_zero_pod_retention_period{0};
  Duration scale_down_delay{0};
  std::int32_t initial_scale = 1;
  std::int32_t min_scale = 0;
  std::int32_t max_scale = 0;        ///< 0 = none
  std::int32_t max_scale_limit = 0;  ///< 0 = none
  /// From `config-deployment`, not from this map.
  Duration progress_deadline = std::chrono::seconds{600};

  friend bool operator==(const ClusterConfig&, const ClusterConfig&) = default;
};

/// One key of the map, as a page about it has it.
struct ClusterKey {
  std::string name;
  std::string accepted;  ///< in words: `a number above 1`
  std::string fallback;  ///< its value where the map has none, in the notation of the map
  std::string meaning;
};

/// Every key that parse_cluster_config reads, in the order of autoscaler.md 5.
[[nodiscard]] std::vector<ClusterKey> cluster_config_keys();

/// What is wrong with the value of one key.
struct ClusterKeyProblem {
  std::string key;
  Problem problem;
};

/// Every violation in `data`, the first of each key, in the order of autoscaler.md 5.
[[nodiscard]] std::vector<ClusterKeyProblem> cluster_config_problems(const StringMap& data);

/// Reads `data` over `defaults`. Unknown keys are ignored. The first violation wins, in the order
/// of autoscaler.md 5; the problem names the key, its value, the rule and what is accepted.
[[nodiscard]] Result<ClusterConfig, Problem> parse_cluster_config(
    const StringMap& data, const ClusterConfig& defaults = ClusterConfig{});

}  // namespace sluice::autoscaler
