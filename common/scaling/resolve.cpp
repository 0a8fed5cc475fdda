#include "common/scaling/annotations.h"
#include "common/scaling/setting_limits.h"
#include "common/values/duration.h"
#include "common/values/go_syntax.h"

#include <algorithm>
#include <cmath>

namespace sluice::autoscaler {
namespace {

constexpr const char* kProgressDeadline = "serving.knative.dev/progress-deadline";

std::optional<double> float_of(const StringMap& annotations, std::string_view name) {
  const auto at = find_annotation(annotations, name);
  return at ? read_go_float(at->value) : std::nullopt;
}

std::optional<std::int32_t> count_of(const StringMap& annotations, std::string_view name) {
  const auto at = find_annotation(annotations, name);
  const auto value = at ? read_go_int(at->value, 32) : std::nullopt;
  if (!value) return std::nullopt;
  return static_cast<std::int32_t>(*value);
}

std::optional<Duration> duration_of(const StringMap& annotations, std::string_view name) {
  const auto at = find_annotation(annotations, name);
  return at ? read_go_duration(at->value) : std::nullopt;
}

std::string text_of(const StringMap& annotations, std::string_view name) {
  const auto at = find_annotation(annotations, name);
  return at ? at->value : std::string{};
}

void resolve_target(const ClusterConfig& config, const StringMap& annotations,
                    std::int64_t container_concurrency, DeciderSpec& spec) {
  const bool rps = spec.metric == ScalingMetric::rps;
  double utilization =
      rps ? config.target_utilization : config.container_concurrency_target_fraction;
  double total = rps ? config.rps_target_default : static_cast<double>(container_concurrency);
  if (total == 0) total = config.container_concurrency_target_default;
  if (const auto target = float_of(annotations, "target")) {
    const bool capped = !rps && container_concurrency != 0;
    total = capped ? std::min(*target, static_cast<double>(container_concurrency)) : *target;
  }
  if (const auto percent = float_of(annotations, "target-utilization-percentage")) {
    utilization = *percent / 100;
  }
  spec.total_value = total;
  // In this order a NaN, which validation lets pass, stays one: the decider then decides nothing.
  const double target = total * utilization;
  spec.target_value = target < kTargetMin ? kTargetMin : target;
}

// The rings are as long as the windows: a value out of range counts as absent, so that unchecked
// annotations cannot make them empty or huge.
Duration stable_window(const ClusterConfig& config, const StringMap& annotations) {
  const auto window = duration_of(annotations, "window");
  return window && *window >= kWindowMin && *window <= kWindowMax ? *window : config.stable_window;
}

double panic_percentage(const ClusterConfig& config, const StringMap& annotations) {
  const auto percentage = float_of(annotations, "panic-window-percentage");
  return percentage && !(*percentage > 100) ? *percentage : config.panic_window_percentage;
}

double burst_capacity_hysteresis(const StringMap& annotations, double target_burst_capacity) {
  // Switched off, the burst capacity is always 0: no measure of what could be spare.
  if (target_burst_capacity == 0) return 0;
  const auto at = annotations.find(kBurstHysteresis);
  const auto value = at == annotations.end() ? std::nullopt : read_go_float(at->second);
  return value && *value > 0 && std::isfinite(*value) ? *value : 0;
}

// A share of the stable window in whole seconds, half up, at least one. The share is cut to whole
// nanoseconds first, as in the reference: what falls short of a half by less is still short.
Duration panic_window(Duration stable, double percentage) {
  constexpr Duration kSecond = std::chrono::seconds{1};
  const double share = static_cast<double>(stable.count()) * percentage / 100;
  if (!(share > static_cast<double>(kSecond.count()))) return kSecond;
  const Duration whole{static_cast<std::int64_t>(share)};
  return (whole + kSecond / 2) / kSecond * kSecond;
}

}  // namespace

ScalingSpec resolve(const ClusterConfig& config, const StringMap& annotations,
                    std::int64_t container_concurrency, Reachability reachability) {
  ScalingSpec spec;
  DeciderSpec& decider = spec.decider;
  if (text_of(annotations, "metric") == "rps") decider.metric = ScalingMetric::rps;
  const std::string aggregation = text_of(annotations, "metric-aggregation-algorithm");
  if (aggregation == "weighted-exponential" || aggregation == "weightedExponential") {
    decider.aggregation = Aggregation::weighted;
  }
  resolve_target(config, annotations, container_concurrency, decider);
  decider.target_burst_capacity =
      float_of(annotations, "target-burst-capacity").value_or(config.target_burst_capacity);
  decider.has_scrape_target = decider.target_burst_capacity != -1;
  decider.activator_capacity = config.activator_capacity;
  decider.max_scale_up_rate = config.max_scale_up_rate;
  decider.max_scale_down_rate = config.max_scale_down_rate;
  decider.panic_threshold = float_of(annotations, "panic-threshold-percentage")
                                .value_or(config.panic_threshold_percentage) /
                            100;
  decider.stable_window = stable_window(config, annotations);
  decider.panic_window = panic_window(decider.stable_window, panic_percentage(config, annotations));
  decider.scale_down_delay =
      duration_of(annotations, "scale-down-delay").value_or(config.scale_down_delay);
  decider.activation_scale = count_of(annotations, "activation-scale").value_or(0);
  const auto initial = count_of(annotations, "initial-scale");
  const bool initial_counts = initial && (*initial != 0 || config.allow_zero_initial_scale);
  decider.initial_scale = initial_counts ? *initial : config.initial_scale;
  decider.reachable = reachability != Reachability::unreachable;

  spec.bounds.min =
      decider.reachable ? count_of(annotations, "min-scale").value_or(config.min_scale) : 0;
  spec.bounds.max = count_of(annotations, "max-scale").value_or(config.max_scale);

  spec.zero.enabled = config.enable_scale_to_zero;
  spec.zero.grace = config.scale_to_zero_grace_period;
  spec.zero.retention = decider.reachable
                            ? duration_of(annotations, "scale-to-zero-pod-retention-period")
                                  .value_or(config.scale_to_zero_pod_retention_period)
                            : Duration{0};
  spec.zero.progress_deadline = config.progress_deadline;
  if (const auto at = annotations.find(kProgressDeadline); at != annotations.end()) {
    spec.zero.progress_deadline = read_go_duration(at->second).value_or(config.progress_deadline);
  }
  spec.burst_capacity_hysteresis =
      burst_capacity_hysteresis(annotations, decider.target_burst_capacity);
  return spec;
}

}  // namespace sluice::autoscaler
