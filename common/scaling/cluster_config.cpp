#include "common/scaling/cluster_config.h"

#include "common/scaling/setting_limits.h"
#include "common/values/duration.h"
#include "common/values/go_syntax.h"

#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace sluice::autoscaler {
namespace {

// What is accepted for each key, told with every rejection of it.
constexpr const char* kFlag = "true or false";
constexpr const char* kPercentage =
    "a percentage above 0 and at most 100, where 1 or less is a fraction";
constexpr const char* kCombinedTarget =
    "a number that, times container-concurrency-target-percentage, is at least 0.01";
constexpr const char* kTarget = "a number of 0.01 or more";
constexpr const char* kBurst = "a number of 0 or more, or -1 for unlimited";
constexpr const char* kCapacity = "a number of 1 or more";
constexpr const char* kRate = "a number above 1";
constexpr const char* kWindow = "whole seconds from 6s to 1h";
constexpr const char* kShare = "a number from 1 to 100";
constexpr const char* kThreshold = "any number";
constexpr const char* kGrace = "a duration above 0s";
constexpr const char* kRetention = "a duration of 0s or more";
constexpr const char* kDelay = "whole seconds, 0s or more";
constexpr const char* kCount = "a whole number from 0 to 2147483647";
constexpr const char* kInitial =
    "a whole number from 1 to 2147483647; 0 needs allow-zero-initial-scale";

// The key as it was written: `max-scale "3"`, or `max-scale (not set)`.
std::string quoted(const StringMap& data, std::string_view key) {
  const auto given = data.find(key);
  const std::string value = given == data.end() ? " (not set)" : " \"" + given->second + "\"";
  return std::string{key} + value;
}

Problem told(const std::string& what, const std::string& accepted) {
  return {what, "accepted: " + accepted};
}

// Reads keys into fields and remembers the first that is malformed. Absent keys leave the default.
class Reader {
 public:
  explicit Reader(const StringMap& data) : data_(data) {}

  void text(std::string_view key, std::string& field) {
    const std::string* raw = find(key);
    if (raw != nullptr) field = trim_go_space(*raw);
  }

  void number(std::string_view key, double& field, const char* accepted) {
    take(key, field, "is not a number", accepted, read_go_float);
  }

  void count(std::string_view key, std::int32_t& field, const char* accepted) {
    take(key, field, "is not a whole number of 32 bits", accepted,
         [](std::string_view raw) { return read_go_int(raw, 32); });
  }

  void flag(std::string_view key, bool& field) {
    take(key, field, "is not a boolean", kFlag, read_go_bool);
  }

  void duration(std::string_view key, Duration& field, const char* accepted) {
    take(key, field, "is not a duration like 30s or 1m30s", accepted, read_go_duration);
  }

  [[nodiscard]] const std::optional<Problem>& problem() const { return problem_; }

  /// What was asked for, whether it was there or not.
  [[nodiscard]] const std::vector<std::string>& keys() const { return keys_; }

 private:
  [[nodiscard]] const std::string* find(std::string_view key) {
    keys_.emplace_back(key);
    const auto at = data_.find(key);
    return at == data_.end() ? nullptr : &at->second;
  }

  template <class Field, class Read>
  void take(std::string_view key, Field& field, const char* complaint, const char* accepted,
            Read read) {
    const std::string* raw = find(key);
    if (raw == nullptr) return;
    if (const auto value = read(*raw)) {
      field = static_cast<Field>(*value);
    } else if (!problem_) {
      problem_ = told(quoted(data_, key) + " " + complaint, accepted);
    }
  }

  const StringMap& data_;  // borrowed for one call of parse_cluster_config
  std::optional<Problem> problem_;
  std::vector<std::string> keys_;
};

void read_all(Reader& read, ClusterConfig& config) {
  read.text("pod-autoscaler-class", config.pod_autoscaler_class);
  read.flag("enable-scale-to-zero", config.enable_scale_to_zero);
  read.flag("allow-zero-initial-scale", config.allow_zero_initial_scale);
  double fraction = config.container_concurrency_target_fraction;
  read.number("container-concurrency-target-percentage", fraction, kPercentage);
  config.container_concurrency_target_fraction = fraction > 1 ? fraction / 100 : fraction;
  read.number("container-concurrency-target-default", config.container_concurrency_target_default,
              kCombinedTarget);
  read.number("requests-per-second-target-default", config.rps_target_default, kTarget);
  read.number("target-burst-capacity", config.target_burst_capacity, kBurst);
  read.number("activator-capacity", config.activator_capacity, kCapacity);
  read.number("max-scale-up-rate", config.max_scale_up_rate, kRate);
  read.number("max-scale-down-rate", config.max_scale_down_rate, kRate);
  read.duration("stable-window", config.stable_window, kWindow);
  read.number("panic-window-percentage", config.panic_window_percentage, kShare);
  read.number("panic-threshold-percentage", config.panic_threshold_percentage, kThreshold);
  read.duration("scale-to-zero-grace-period", config.scale_to_zero_grace_period, kGrace);
  read.duration("scale-to-zero-pod-retention-period", config.scale_to_zero_pod_retention_period,
                kRetention);
  read.duration("scale-down-delay", config.scale_down_delay, kDelay);
  read.count("initial-scale", config.initial_scale, kInitial);
  read.count("min-scale", config.min_scale, kCount);
  read.count("max-scale", config.max_scale, kCount);
  read.count("max-scale-limit", config.max_scale_limit, kCount);
}

struct Rule {
  bool broken;
  std::string_view key;
  std::string complaint;
  std::string accepted;
};

// Durations, capacities and rates. All rules are written as "less than", so that NaN passes, as it
// does in the reference.
std::vector<Rule> rules_of_load(const ClusterConfig& c, const StringMap& data) {
  const double fraction = c.container_concurrency_target_fraction;
  return {
      {c.scale_to_zero_grace_period <= Duration{0}, "scale-to-zero-grace-period",
       "must be positive", kGrace},
      {c.scale_down_delay < Duration{0}, "scale-down-delay", "must not be negative", kDelay},
      {!whole_seconds(c.scale_down_delay), "scale-down-delay", "must be whole seconds", kDelay},
      {c.scale_to_zero_pod_retention_period < Duration{0}, "scale-to-zero-pod-retention-period",
       "must not be negative", kRetention},
      {c.target_burst_capacity < 0 && c.target_burst_capacity != -1, "target-burst-capacity",
       "must not be negative, except for -1", kBurst},
      {fraction <= 0 || fraction > 1, "container-concurrency-target-percentage",
       "is outside (0, 100]", kPercentage},
      {fraction * c.container_concurrency_target_default < kTargetMin,
       "container-concurrency-target-default",
       "times " + quoted(data, "container-concurrency-target-percentage") + " is too small",
       kCombinedTarget},
      {c.rps_target_default < kTargetMin, "requests-per-second-target-default", "is too small",
       kTarget},
      {c.activator_capacity < 1, "activator-capacity", "is too small", kCapacity},
      {c.max_scale_up_rate <= 1, "max-scale-up-rate", "must be greater than 1", kRate},
      {c.max_scale_down_rate <= 1, "max-scale-down-rate", "must be greater than 1", kRate},
      {c.stable_window < kWindowMin || c.stable_window > kWindowMax, "stable-window",
       "is out of range", kWindow},
      {!whole_seconds(c.stable_window), "stable-window", "must be whole seconds", kWindow},
      {c.panic_window_percentage < 1 || c.panic_window_percentage > 100, "panic-window-percentage",
       "is out of range", kShare},
  };
}

std::vector<Rule> rules_of_scale(const ClusterConfig& c, const StringMap& data) {
  const bool limited = c.max_scale_limit > 0;
  const std::string limit = quoted(data, "max-scale-limit");
  const std::string up_to_limit =
      limited ? "a whole number from 1 to " + std::to_string(c.max_scale_limit) : kCount;
  return {
      {c.initial_scale < 0, "initial-scale", "must not be negative",
       c.allow_zero_initial_scale ? kCount : kInitial},
      {c.initial_scale == 0 && !c.allow_zero_initial_scale, "initial-scale",
       "is too small with " + quoted(data, "allow-zero-initial-scale"), kInitial},
      {c.min_scale < 0, "min-scale", "must not be negative", kCount},
      {c.max_scale < 0, "max-scale", "must not be negative", up_to_limit},
      {limited && c.max_scale == 0, "max-scale", "must not be unlimited with " + limit,
       up_to_limit},
      {limited && c.max_scale > c.max_scale_limit, "max-scale", "is above " + limit, up_to_limit},
      {c.max_scale_limit < 0, "max-scale-limit", "must not be negative", kCount},
      {c.min_scale > c.max_scale && c.max_scale > 0, "min-scale",
       "is above " + quoted(data, "max-scale"),
       "a whole number from 0 to " + std::to_string(c.max_scale)},
  };
}

// The first violation is reported, in the order of the reference.
std::optional<Problem> first_broken(const std::vector<Rule>& rules, const StringMap& data) {
  for (const Rule& rule : rules) {
    if (rule.broken) return told(quoted(data, rule.key) + " " + rule.complaint, rule.accepted);
  }
  return std::nullopt;
}

}  // namespace

std::vector<std::string> cluster_config_keys() {
  const StringMap nothing;
  ClusterConfig ignored;
  Reader read{nothing};
  read_all(read, ignored);
  return read.keys();
}

Result<ClusterConfig, Problem> parse_cluster_config(const StringMap& data,
                                                    const ClusterConfig& defaults) {
  ClusterConfig config = defaults;
  Reader read{data};
  read_all(read, config);
  if (read.problem()) return *read.problem();
  if (auto problem = first_broken(rules_of_load(config, data), data)) return std::move(*problem);
  if (auto problem = first_broken(rules_of_scale(config, data), data)) return std::move(*problem);
  return config;
}

}  // namespace sluice::autoscaler
