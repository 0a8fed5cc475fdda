#include "autoscaler/core/cluster_config.h"

#include "autoscaler/core/go_syntax.h"

#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace sluice::autoscaler {
namespace {

constexpr double kTargetMin = 0.01;
constexpr Duration kWindowMin = std::chrono::seconds{6};
constexpr Duration kWindowMax = std::chrono::hours{1};

// Reads keys into fields and remembers the first that is malformed. Absent keys leave the default.
class Reader {
 public:
  explicit Reader(const StringMap& data) : data_(data) {}

  void text(std::string_view key, std::string& field) {
    const std::string* raw = find(key);
    if (raw == nullptr) return;
    const auto begin = raw->find_first_not_of(" \t\r\n\v\f");
    const auto end = raw->find_last_not_of(" \t\r\n\v\f");
    field = begin == std::string::npos ? "" : raw->substr(begin, end - begin + 1);
  }

  void number(std::string_view key, double& field) {
    take(key, field, "a number", [](std::string_view raw) { return read_go_float(raw); });
  }

  void count(std::string_view key, std::int32_t& field) {
    take(key, field, "a whole number of at most 2147483647",
         [](std::string_view raw) { return read_go_int(raw, 32); });
  }

  void flag(std::string_view key, bool& field) {
    take(key, field, "true or false", [](std::string_view raw) { return read_go_bool(raw); });
  }

  void duration(std::string_view key, Duration& field) {
    take(key, field, "a duration such as 30s or 1m30s",
         [](std::string_view raw) { return read_go_duration(raw); });
  }

  [[nodiscard]] const std::optional<Problem>& problem() const { return problem_; }

 private:
  [[nodiscard]] const std::string* find(std::string_view key) const {
    const auto at = data_.find(key);
    return at == data_.end() ? nullptr : &at->second;
  }

  template <class Field, class Read>
  void take(std::string_view key, Field& field, std::string_view wanted, Read read) {
    const std::string* raw = find(key);
    if (raw == nullptr) return;
    if (const auto value = read(*raw)) {
      field = static_cast<Field>(*value);
    } else if (!problem_) {
      problem_ = Problem{std::string{key} + " \"" + *raw + "\" cannot be read",
                         "write " + std::string{wanted}};
    }
  }

  const StringMap& data_;  // borrowed for one call of parse_cluster_config
  std::optional<Problem> problem_;
};

std::optional<Problem> read_all(const StringMap& data, ClusterConfig& config) {
  Reader read{data};
  read.text("pod-autoscaler-class", config.pod_autoscaler_class);
  read.flag("enable-scale-to-zero", config.enable_scale_to_zero);
  read.flag("allow-zero-initial-scale", config.allow_zero_initial_scale);
  double fraction = config.container_concurrency_target_fraction;
  read.number("container-concurrency-target-percentage", fraction);
  config.container_concurrency_target_fraction = fraction > 1 ? fraction / 100 : fraction;
  read.number("container-concurrency-target-default", config.container_concurrency_target_default);
  read.number("requests-per-second-target-default", config.rps_target_default);
  read.number("target-burst-capacity", config.target_burst_capacity);
  read.number("activator-capacity", config.activator_capacity);
  read.number("max-scale-up-rate", config.max_scale_up_rate);
  read.number("max-scale-down-rate", config.max_scale_down_rate);
  read.duration("stable-window", config.stable_window);
  read.number("panic-window-percentage", config.panic_window_percentage);
  read.number("panic-threshold-percentage", config.panic_threshold_percentage);
  read.duration("scale-to-zero-grace-period", config.scale_to_zero_grace_period);
  read.duration("scale-to-zero-pod-retention-period", config.scale_to_zero_pod_retention_period);
  read.duration("scale-down-delay", config.scale_down_delay);
  read.count("initial-scale", config.initial_scale);
  read.count("min-scale", config.min_scale);
  read.count("max-scale", config.max_scale);
  read.count("max-scale-limit", config.max_scale_limit);
  return read.problem();
}

struct Rule {
  bool broken;
  std::string_view key;
  std::string_view complaint;
  std::string accepted;
};

bool whole_seconds(Duration duration) {
  return duration % std::chrono::seconds{1} == Duration{0};
}

// In the order of the reference: the first broken one is told. Written as "less than", so that NaN
// passes, as it does there.
std::vector<Rule> rules_for(const ClusterConfig& c) {
  const double fraction = c.container_concurrency_target_fraction;
  const bool limited = c.max_scale_limit > 0;
  const std::string most = limited ? std::to_string(c.max_scale_limit) : "2147483647";
  return {
      {c.scale_to_zero_grace_period <= Duration{0}, "scale-to-zero-grace-period",
       "must be positive", "a duration above 0s"},
      {c.scale_down_delay < Duration{0}, "scale-down-delay", "must not be negative",
       "whole seconds, 0s or more"},
      {!whole_seconds(c.scale_down_delay), "scale-down-delay", "must be whole seconds",
       "whole seconds, 0s or more"},
      {c.scale_to_zero_pod_retention_period < Duration{0}, "scale-to-zero-pod-retention-period",
       "must not be negative", "a duration of 0s or more"},
      {c.target_burst_capacity < 0 && c.target_burst_capacity != -1, "target-burst-capacity",
       "must be non-negative, or -1 for unlimited", "0 or more, or -1"},
      {fraction <= 0 || fraction > 1, "container-concurrency-target-percentage",
       "is outside (0, 100]", "a percentage above 0, at most 100"},
      {fraction * c.container_concurrency_target_default < kTargetMin,
       "container-concurrency-target-default",
       "times container-concurrency-target-percentage is too small", "a product of at least 0.01"},
      {c.rps_target_default < kTargetMin, "requests-per-second-target-default", "is too small",
       "0.01 or more"},
      {c.activator_capacity < 1, "activator-capacity", "must be at least 1", "1 or more"},
      {c.max_scale_up_rate <= 1, "max-scale-up-rate", "must be greater than 1", "a number above 1"},
      {c.max_scale_down_rate <= 1, "max-scale-down-rate", "must be greater than 1",
       "a number above 1"},
      {c.stable_window < kWindowMin || c.stable_window > kWindowMax, "stable-window",
       "is out of range", "whole seconds from 6s to 1h"},
      {!whole_seconds(c.stable_window), "stable-window", "must be whole seconds",
       "whole seconds from 6s to 1h"},
      {c.panic_window_percentage < 1 || c.panic_window_percentage > 100, "panic-window-percentage",
       "is out of range", "1 to 100"},
      {c.initial_scale < 0 || (c.initial_scale == 0 && !c.allow_zero_initial_scale),
       "initial-scale", "is too small",
       c.allow_zero_initial_scale ? "0 or more" : "1 or more (0 needs allow-zero-initial-scale)"},
      {c.max_scale < (limited ? 1 : 0) || (limited && c.max_scale > c.max_scale_limit), "max-scale",
       "is out of range", (limited ? "1 to " : "0 to ") + most},
      {c.max_scale_limit < 0, "max-scale-limit", "must not be negative", "0 or more"},
      {c.min_scale < 0, "min-scale", "must not be negative", "0 or more"},
      {c.min_scale > c.max_scale && c.max_scale > 0, "min-scale", "is above max-scale",
       "0 to max-scale (" + std::to_string(c.max_scale) + ")"},
  };
}

Problem told(const Rule& rule, const StringMap& data) {
  const auto given = data.find(rule.key);
  const std::string value = given == data.end() ? " (not set)" : " \"" + given->second + "\"";
  return {std::string{rule.key} + value + " " + std::string{rule.complaint},
          "accepted: " + rule.accepted};
}

}  // namespace

Result<ClusterConfig, Problem> parse_cluster_config(const StringMap& data,
                                                    const ClusterConfig& defaults) {
  ClusterConfig config = defaults;
  if (auto problem = read_all(data, config)) return std::move(*problem);
  for (const Rule& rule : rules_for(config)) {
    if (rule.broken) return told(rule, data);
  }
  return config;
}

}  // namespace sluice::autoscaler
