#include "common/scaling/annotations.h"

#include "common/scaling/setting_limits.h"
#include "common/scaling/setting_names.h"
#include "common/values/duration.h"
#include "common/values/go_syntax.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace sluice::autoscaler {
namespace {

constexpr std::string_view kPrefix = "autoscaling.knative.dev/";
constexpr const char* kProgressDeadline = "serving.knative.dev/progress-deadline";

// Names that have a camelCase alias; the others are read in one spelling only.
constexpr std::array<std::string_view, 10> kAliased{"min-scale",
                                                    "max-scale",
                                                    "initial-scale",
                                                    "target-utilization-percentage",
                                                    "target-burst-capacity",
                                                    "panic-window-percentage",
                                                    "panic-threshold-percentage",
                                                    "scale-down-delay",
                                                    "scale-to-zero-pod-retention-period",
                                                    "metric-aggregation-algorithm"};

constexpr std::array<std::string_view, 5> kPlain{"class", "metric", "target", "window",
                                                 "activation-scale"};

std::string camel_case(std::string_view dashed) {
  std::string result;
  bool raise = false;
  for (const char c : dashed) {
    if (c == '-') {
      raise = true;
      continue;
    }
    result += raise ? static_cast<char>(c - 'a' + 'A') : c;
    raise = false;
  }
  return result;
}

constexpr const char* kAnyCount = "a whole number from 0 to 2147483647";

std::string count_from(std::int64_t least) {
  return "a whole number from " + std::to_string(least) + " to 2147483647";
}

// Collects every rejection of one set of annotations.
class Check {
 public:
  Check(const StringMap& annotations, const ClusterConfig& config)
      : annotations_(annotations), config_(config) {}

  std::vector<AnnotationProblem> run() {
    check_class();
    check_bounds();
    check_float("panic-window-percentage", 1, 100);
    check_float("panic-threshold-percentage", 110, 1000);
    check_float("target", kTargetMin, std::numeric_limits<double>::infinity());
    check_float("target-utilization-percentage", 1, 100);
    check_burst_capacity();
    check_duration("window", kWindowMin, true);
    check_duration("scale-to-zero-pod-retention-period", Duration{0}, false);
    check_duration("scale-down-delay", Duration{0}, true);
    check_metric();
    check_aggregation();
    check_initial_scale();
    check_progress_deadline();
    check_ours();
    return std::move(problems_);
  }

 private:
  [[nodiscard]] std::optional<Annotation> find(std::string_view name) const {
    return find_annotation(annotations_, name);
  }

  void reject(const Annotation& at, const std::string& complaint, const std::string& accepted) {
    problems_.push_back(
        {{at.key}, {at.key + " \"" + at.value + "\" " + complaint, "accepted: " + accepted}});
  }

  void reject_pair(const Annotation& at, const std::string& complaint, const Annotation& other,
                   const std::string& accepted) {
    problems_.push_back({{at.key, other.key},
                         {at.key + " \"" + at.value + "\" " + complaint + " " + other.key + " \"" +
                              other.value + "\"",
                          "accepted: " + accepted}});
  }

  void check_class() {
    const auto at = find("class");
    if (!at || !at->value.ends_with(".knative.dev")) return;
    if (at->value == kKnativeClass || at->value == kHorizontalClass) return;
    reject(*at, "is not a Knative class",
           std::string{kKnativeClass} + ", " + kHorizontalClass + ", " + kOurClass +
               ", or a name outside knative.dev");
  }

  // A count of 0 or more; 0 when absent or rejected.
  std::int64_t checked_count(const std::optional<Annotation>& at) {
    if (!at) return 0;
    const auto value = read_go_int(at->value, 32);
    if (value && *value >= 0) return *value;
    reject(*at, value ? "must not be negative" : "is not a whole number of 32 bits", kAnyCount);
    return 0;
  }

  void check_bounds() {
    const auto min_at = find("min-scale");
    const auto max_at = find("max-scale");
    const std::int64_t min = checked_count(min_at);
    const std::int64_t max = checked_count(max_at);
    if (max != 0 && min > max) {
      reject_pair(*max_at, "is below", *min_at, count_from(min) + ", or 0 for none");
    }
    if (max_at && config_.max_scale_limit > 0 && (max > config_.max_scale_limit || max == 0)) {
      reject(*max_at, "is outside the limit of the cluster (max-scale-limit)",
             "a whole number from 1 to " + std::to_string(config_.max_scale_limit));
    }

    const auto at = find("activation-scale");
    if (!at) return;
    const auto activation = read_go_int(at->value, 32);
    if (!activation || *activation < 2) {
      reject(*at, activation ? "is too small" : "is not a whole number of 32 bits", count_from(2));
    } else if (min > *activation) {
      reject_pair(*at, "is below", *min_at, count_from(min));
    } else if (max > 0 && *activation > max) {
      reject_pair(*at, "is above", *max_at, "a whole number from 2 to " + std::to_string(max));
    }
  }

  void check_float(std::string_view name, double least, double most) {
    const auto at = find(name);
    if (!at) return;
    const std::string least_text =
        least == kTargetMin ? "0.01" : std::to_string(std::lround(least));
    const std::string accepted = std::isinf(most) ? "a number of " + least_text + " or more"
                                                  : "a number from " + least_text + " to " +
                                                        std::to_string(std::lround(most));
    const auto value = read_go_float(at->value);
    if (!value) {
      reject(*at, "is not a number", accepted);
    } else if (*value < least || *value > most) {
      reject(*at, "is out of range", accepted);
    }
  }

  void check_burst_capacity() {
    const auto at = find("target-burst-capacity");
    if (!at) return;
    const auto value = read_go_float(at->value);
    if (!value || (*value < 0 && *value != -1)) {
      reject(*at, value ? "is out of range" : "is not a number",
             "a number of 0 or more, or -1 for unlimited");
    }
  }

  void check_duration(std::string_view name, Duration least, bool whole) {
    const auto at = find(name);
    if (!at) return;
    const std::string accepted = std::string{whole ? "whole seconds" : "a duration"} + " from " +
                                 show_duration(least) + " to 1h";
    const auto value = read_go_duration(at->value);
    if (!value) {
      reject(*at, "is not a duration like 30s or 1m30s", accepted);
    } else if (*value < least || *value > kWindowMax) {
      reject(*at, "is out of range", accepted);
    } else if (whole && !whole_seconds(*value)) {
      reject(*at, "is not whole seconds", accepted);
    }
  }

  void check_metric() {
    const auto at = find("metric");
    if (!at) return;
    const auto class_at = find("class");
    const std::string& name = class_at ? class_at->value : config_.pod_autoscaler_class;
    if (name == kKnativeClass || name == kOurClass) {
      if (at->value == "concurrency" || at->value == "rps") return;
      reject(*at, "is not a metric of class " + name, "concurrency or rps");
    } else if (name == kHorizontalClass && at->value.empty()) {
      reject(*at, "is empty", "cpu, memory or the name of a custom metric");
    }
  }

  void check_aggregation() {
    const auto class_at = find("class");
    if (!class_at || (class_at->value != kKnativeClass && class_at->value != kOurClass)) return;
    const auto at = find("metric-aggregation-algorithm");
    if (!at) return;
    for (const std::string_view known :
         {"", "linear", "weighted-exponential", "weightedExponential"}) {
      if (at->value == known) return;
    }
    reject(*at, "is unknown", "linear or weighted-exponential");
  }

  void check_initial_scale() {
    const auto at = find("initial-scale");
    if (!at) return;
    // 64 bits, as in the reference; what does not fit 32 is ignored by resolve().
    const auto value = read_go_int(at->value, 64);
    const bool zero_allowed = config_.allow_zero_initial_scale;
    if (!value || *value < (zero_allowed ? 0 : 1)) {
      reject(*at, value ? "is too small" : "is not a whole number",
             zero_allowed ? "a whole number of 0 or more"
                          : "a whole number of 1 or more; 0 needs allow-zero-initial-scale");
    }
  }

  void check_progress_deadline() {
    const auto found = annotations_.find(kProgressDeadline);
    if (found == annotations_.end() || found->second.empty()) return;
    const auto value = read_go_duration(found->second);
    if (!value || *value < Duration{0} || !whole_seconds(*value)) {
      reject({found->first, found->second},
             value ? "is out of range" : "is not a duration like 30s or 1m30s",
             "whole seconds, 0s or more");
    }
  }

  void check_ours() {
    for (auto at = annotations_.lower_bound(kOurPrefix);
         at != annotations_.end() && at->first.starts_with(kOurPrefix); ++at) {
      if (at->first == kIgnorePathsKey || at->first == kIgnoreAgentsKey) continue;
      if (at->first != kBurstHysteresis) {
        reject({at->first, at->second}, "is an unknown setting",
               std::string{kBurstHysteresis}.append(", ").append(kIgnorePathsKey) + ", " +
                   std::string{kIgnoreAgentsKey});
        continue;
      }
      const auto value = read_go_float(at->second);
      if (value && *value >= 0 && std::isfinite(*value)) continue;
      reject({at->first, at->second}, value ? "is out of range" : "is not a number",
             "a finite number of requests, 0 (off) or more");
    }
  }

  const StringMap& annotations_;  // both borrowed for one call of check_annotations
  const ClusterConfig& config_;
  std::vector<AnnotationProblem> problems_;
};

}  // namespace

std::optional<Annotation> find_annotation(const StringMap& annotations, std::string_view name) {
  const std::string dashed = std::string{kPrefix} + std::string{name};
  if (const auto at = annotations.find(dashed); at != annotations.end()) {
    return Annotation{at->first, at->second};
  }
  if (std::find(kAliased.begin(), kAliased.end(), name) == kAliased.end()) return std::nullopt;
  const std::string camel = std::string{kPrefix} + camel_case(name);
  if (const auto at = annotations.find(camel); at != annotations.end()) {
    return Annotation{at->first, at->second};
  }
  return std::nullopt;
}

std::vector<std::string> annotation_keys() {
  std::vector<std::string> keys;
  keys.reserve(kPlain.size() + 2 * kAliased.size());
  for (const std::string_view name : kPlain) keys.push_back(std::string{kPrefix}.append(name));
  for (const std::string_view name : kAliased) {
    keys.push_back(std::string{kPrefix}.append(name));
    keys.push_back(std::string{kPrefix}.append(camel_case(name)));
  }
  return keys;
}

StringMap scaling_annotations(const StringMap& annotations) {
  StringMap kept;
  const auto keep = [&](std::string_view key) {
    if (const auto at = annotations.find(key); at != annotations.end()) kept.insert(*at);
  };
  for (const std::string& key : annotation_keys()) keep(key);
  keep(kProgressDeadline);
  keep(kBurstHysteresis);
  return kept;
}

std::vector<AnnotationProblem> check_annotations(const StringMap& annotations,
                                                 const ClusterConfig& config) {
  return Check{annotations, config}.run();
}

bool owns(const ClassView& view) {
  if (!view.annotated.empty()) return view.annotated == kOurClass;
  if (view.knative_autoscaler_runs) return false;
  const std::string_view fallback = view.cluster_default;
  return fallback.empty() || fallback == kOurClass || fallback == kKnativeClass;
}

}  // namespace sluice::autoscaler
