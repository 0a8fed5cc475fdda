#include "common/scaling/cluster_config.h"

#include "common/scaling/setting_limits.h"
#include "common/values/duration.h"
#include "common/values/go_syntax.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
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

using Field =
    std::variant<std::string ClusterConfig::*, bool ClusterConfig::*, double ClusterConfig::*,
                 Duration ClusterConfig::*, std::int32_t ClusterConfig::*>;

struct Key {
  std::string_view name;
  Field field;
  const char* accepted;
  const char* meaning;
};

using Config = ClusterConfig;

constexpr std::array kKeys{
    Key{"pod-autoscaler-class", &Config::pod_autoscaler_class, "the name of a class",
        "autoscaler class of revisions that set none"},
    Key{"enable-scale-to-zero", &Config::enable_scale_to_zero, kFlag,
        "whether an idle revision is scaled to zero"},
    Key{"allow-zero-initial-scale", &Config::allow_zero_initial_scale, kFlag,
        "whether a new revision may start with zero replicas"},
    Key{"container-concurrency-target-percentage", &Config::container_concurrency_target_fraction,
        kPercentage, "load that each replica should have, in percent of its target"},
    Key{"container-concurrency-target-default", &Config::container_concurrency_target_default,
        kCombinedTarget, "requests in flight that each replica should have"},
    Key{"requests-per-second-target-default", &Config::rps_target_default, kTarget,
        "requests per second that each replica should have, with the metric rps"},
    Key{"target-burst-capacity", &Config::target_burst_capacity, kBurst,
        "burst of requests in flight to keep room for; with less room the activator stays in the "
        "path"},
    Key{"activator-capacity", &Config::activator_capacity, kCapacity,
        "requests in flight that one activator carries"},
    Key{"max-scale-up-rate", &Config::max_scale_up_rate, kRate,
        "most replicas that one decision may request, as a multiple of the ready ones"},
    Key{"max-scale-down-rate", &Config::max_scale_down_rate, kRate,
        "largest factor by which one decision may divide the ready replicas"},
    Key{"stable-window", &Config::stable_window, kWindow,
        "time over which load is averaged, and time without load before scale to zero"},
    Key{"panic-window-percentage", &Config::panic_window_percentage, kShare,
        "length of the panic window, in percent of the stable one"},
    Key{"panic-threshold-percentage", &Config::panic_threshold_percentage, kThreshold,
        "load in the panic window at which panic begins, in percent of what the ready replicas "
        "should have"},
    Key{"scale-to-zero-grace-period", &Config::scale_to_zero_grace_period, kGrace,
        "longest time that the last replica waits for the activator to be in the path"},
    Key{"scale-to-zero-pod-retention-period", &Config::scale_to_zero_pod_retention_period,
        kRetention, "shortest time that the last replica stays"},
    Key{"scale-down-delay", &Config::scale_down_delay, kDelay,
        "how long load must be lower before replicas are removed"},
    Key{"initial-scale", &Config::initial_scale, kInitial, "replicas of a new revision"},
    Key{"min-scale", &Config::min_scale, kCount, "minimum replicas of a revision"},
    Key{"max-scale", &Config::max_scale, kCount, "maximum replicas of a revision; 0 = no bound"},
    Key{"max-scale-limit", &Config::max_scale_limit, kCount,
        "bound on max-scale, also on that of annotations; 0 = no bound"},
};

// One notation of a value for each type of a field, and what is said of text in none.
std::optional<std::string> read(std::string_view raw, const std::string&) {
  return std::string{trim_go_space(raw)};
}

std::optional<bool> read(std::string_view raw, bool) {
  return read_go_bool(raw);
}

std::optional<double> read(std::string_view raw, double) {
  return read_go_float(raw);
}

std::optional<Duration> read(std::string_view raw, Duration) {
  return read_go_duration(raw);
}

auto read(std::string_view raw, std::int32_t) {
  return read_go_int(raw, 32);
}

const char* complaint(const std::string&) {
  return "is not text";
}

const char* complaint(bool) {
  return "is not a boolean";
}

const char* complaint(double) {
  return "is not a number";
}

const char* complaint(Duration) {
  return "is not a duration like 30s or 1m30s";
}

const char* complaint(std::int32_t) {
  return "is not a whole number of 32 bits";
}

std::string shown(const std::string& value) {
  return value;
}

std::string shown(bool value) {
  return value ? "true" : "false";
}

std::string shown(std::int32_t value) {
  return std::to_string(value);
}

std::string shown(Duration value) {
  return std::to_string(std::chrono::duration_cast<std::chrono::seconds>(value).count()) + "s";
}

std::string shown(double value) {
  char digits[40];
  return {digits, std::to_chars(digits, digits + sizeof digits, value).ptr};
}

// Reads each key into its field. Absent and malformed keys leave the default; the malformed are
// returned.
std::vector<ClusterKeyProblem> read_all(const StringMap& data, ClusterConfig& config) {
  std::vector<ClusterKeyProblem> wrong;
  for (const Key& key : kKeys) {
    const auto given = data.find(key.name);
    if (given == data.end()) continue;
    const auto take = [&](auto field) {
      using Value = std::decay_t<decltype(config.*field)>;
      if (const auto value = read(given->second, config.*field)) {
        config.*field = static_cast<Value>(*value);
      } else {
        wrong.push_back(
            {std::string{key.name},
             told(quoted(data, key.name) + " " + complaint(config.*field), key.accepted)});
      }
    };
    std::visit(take, key.field);
  }
  double& fraction = config.container_concurrency_target_fraction;
  fraction = fraction > 1 ? fraction / 100 : fraction;
  return wrong;
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

void add_broken(const std::vector<Rule>& rules, const StringMap& data,
                std::vector<ClusterKeyProblem>& problems) {
  for (const Rule& rule : rules) {
    const auto same = [&](const ClusterKeyProblem& known) { return known.key == rule.key; };
    if (!rule.broken || std::any_of(problems.begin(), problems.end(), same)) continue;
    problems.push_back({std::string{rule.key},
                        told(quoted(data, rule.key) + " " + rule.complaint, rule.accepted)});
  }
}

// The violations in the order of the reference: malformed values, then those that break a rule.
std::vector<ClusterKeyProblem> judge(const StringMap& data, ClusterConfig& config) {
  auto problems = read_all(data, config);
  add_broken(rules_of_load(config, data), data, problems);
  add_broken(rules_of_scale(config, data), data, problems);
  return problems;
}

}  // namespace

std::vector<ClusterKey> cluster_config_keys() {
  const ClusterConfig defaults;
  std::vector<ClusterKey> keys;
  for (const Key& key : kKeys) {
    std::string fallback =
        std::visit([&](auto field) { return shown(defaults.*field); }, key.field);
    // The field is a fraction, the key a percentage.
    if (key.name == "container-concurrency-target-percentage") {
      fallback = shown(defaults.container_concurrency_target_fraction * 100);
    }
    keys.push_back({std::string{key.name}, key.accepted, std::move(fallback), key.meaning});
  }
  return keys;
}

std::vector<ClusterKeyProblem> cluster_config_problems(const StringMap& data) {
  ClusterConfig ignored;
  return judge(data, ignored);
}

Result<ClusterConfig, Problem> parse_cluster_config(const StringMap& data,
                                                    const ClusterConfig& defaults) {
  ClusterConfig config = defaults;
  auto problems = judge(data, config);
  if (!problems.empty()) return std::move(problems.front().problem);
  return config;
}

}  // namespace sluice::autoscaler
