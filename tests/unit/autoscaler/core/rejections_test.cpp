#include "common/scaling/annotations.h"
#include "common/scaling/cluster_config.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

// Goal: the author of an invalid value can correct it from the message alone. Method: every path to
// a rejection, with the whole text: key, value, rule and what is accepted.
namespace sluice::autoscaler {
namespace {

struct Rejected {
  StringMap given;
  std::string text;
};

void expect_config(const std::vector<Rejected>& table) {
  for (const Rejected& row : table) {
    const auto config = parse_cluster_config(row.given);
    EXPECT_EQ(config ? "accepted" : config.error().text(), row.text);
  }
}

TEST(Rejections, OfTheClusterConfigurationNameKeyValueRuleAndRange) {
  expect_config({
      {{{"enable-scale-to-zero", "yes"}},
       "enable-scale-to-zero \"yes\" is not a boolean; accepted: true or false"},
      {{{"stable-window", "60"}},
       "stable-window \"60\" is not a duration like 30s or 1m30s; accepted: whole seconds from 6s "
       "to 1h"},
      {{{"panic-threshold-percentage", "x"}},
       "panic-threshold-percentage \"x\" is not a number; accepted: any number"},
      {{{"min-scale", "2147483648"}},
       "min-scale \"2147483648\" is not a whole number of 32 bits; accepted: a whole number from 0 "
       "to 2147483647"},
      {{{"scale-to-zero-grace-period", "0s"}},
       "scale-to-zero-grace-period \"0s\" must be positive; accepted: a duration above 0s"},
      {{{"scale-down-delay", "-1s"}},
       "scale-down-delay \"-1s\" must not be negative; accepted: whole seconds, 0s or more"},
      {{{"scale-down-delay", "1500ms"}},
       "scale-down-delay \"1500ms\" must be whole seconds; accepted: whole seconds, 0s or more"},
      {{{"scale-to-zero-pod-retention-period", "-1ns"}},
       "scale-to-zero-pod-retention-period \"-1ns\" must not be negative; accepted: a duration of "
       "0s or more"},
      {{{"target-burst-capacity", "-0.5"}},
       "target-burst-capacity \"-0.5\" must not be negative, except for -1; accepted: a number of "
       "0 or more, or -1 for unlimited"},
      {{{"container-concurrency-target-percentage", "100.5"}},
       "container-concurrency-target-percentage \"100.5\" is outside (0, 100]; accepted: a "
       "percentage above 0 and at most 100, where 1 or less is a fraction"},
      {{{"container-concurrency-target-default", "0.01"}},
       "container-concurrency-target-default \"0.01\" times "
       "container-concurrency-target-percentage (not set) is too small; accepted: a number that, "
       "times container-concurrency-target-percentage, is at least 0.01"},
      {{{"requests-per-second-target-default", "0.0099"}},
       "requests-per-second-target-default \"0.0099\" is too small; accepted: a number of 0.01 or "
       "more"},
      {{{"activator-capacity", "0.999"}},
       "activator-capacity \"0.999\" is too small; accepted: a number of 1 or more"},
      {{{"max-scale-up-rate", "1.0"}},
       "max-scale-up-rate \"1.0\" must be greater than 1; accepted: a number above 1"},
      {{{"max-scale-down-rate", "1"}},
       "max-scale-down-rate \"1\" must be greater than 1; accepted: a number above 1"},
      {{{"stable-window", "5s"}},
       "stable-window \"5s\" is out of range; accepted: whole seconds from 6s to 1h"},
      {{{"stable-window", "6001ms"}},
       "stable-window \"6001ms\" must be whole seconds; accepted: whole seconds from 6s to 1h"},
      {{{"panic-window-percentage", "0.99"}},
       "panic-window-percentage \"0.99\" is out of range; accepted: a number from 1 to 100"},
  });
}

TEST(Rejections, OfTheClustersBoundsNameBothKeys) {
  expect_config({
      {{{"initial-scale", "-1"}},
       "initial-scale \"-1\" must not be negative; accepted: a whole number from 1 to 2147483647; "
       "0 needs allow-zero-initial-scale"},
      {{{"initial-scale", "0"}},
       "initial-scale \"0\" is too small with allow-zero-initial-scale (not set); accepted: a "
       "whole number from 1 to 2147483647; 0 needs allow-zero-initial-scale"},
      {{{"min-scale", "-1"}},
       "min-scale \"-1\" must not be negative; accepted: a whole number from 0 to 2147483647"},
      {{{"max-scale", "-1"}},
       "max-scale \"-1\" must not be negative; accepted: a whole number from 0 to 2147483647"},
      {{{"max-scale-limit", "11"}},
       "max-scale (not set) must not be unlimited with max-scale-limit \"11\"; accepted: a whole "
       "number from 1 to 11"},
      {{{"max-scale-limit", "10"}, {"max-scale", "12"}},
       "max-scale \"12\" is above max-scale-limit \"10\"; accepted: a whole number from 1 to 10"},
      {{{"max-scale-limit", "-1"}},
       "max-scale-limit \"-1\" must not be negative; accepted: a whole number from 0 to "
       "2147483647"},
      {{{"min-scale", "5"}, {"max-scale", "4"}},
       "min-scale \"5\" is above max-scale \"4\"; accepted: a whole number from 0 to 4"},
  });
}

// Keys without a prefix stand for those of autoscaling.knative.dev.
std::string complaint(const StringMap& given, const ClusterConfig& config) {
  const std::string prefix = "autoscaling.knative.dev/";
  StringMap annotations;
  for (const auto& [key, value] : given) {
    annotations[key.find('/') == std::string::npos ? prefix + key : key] = value;
  }
  std::string text;
  for (const auto& problem : check_annotations(annotations, config)) {
    text += (text.empty() ? "" : " + ") + problem.problem.text();
  }
  for (auto at = text.find(prefix); at != std::string::npos; at = text.find(prefix)) {
    text.erase(at, prefix.size());
  }
  return text;
}

void expect_all(const std::vector<Rejected>& table, const ClusterConfig& config = {}) {
  for (const Rejected& row : table) EXPECT_EQ(complaint(row.given, config), row.text);
}

TEST(Rejections, OfNumbersInAnnotationsNameKeyValueRuleAndRange) {
  expect_all({
      {{{"min-scale", "-1"}},
       "min-scale \"-1\" must not be negative; accepted: a whole number from 0 to 2147483647"},
      {{{"maxScale", "many"}},
       "maxScale \"many\" is not a whole number of 32 bits; accepted: a whole number from 0 to "
       "2147483647"},
      {{{"min-scale", "5"}, {"max-scale", "2"}},
       "max-scale \"2\" is below min-scale \"5\"; accepted: a whole number from 5 to 2147483647, "
       "or 0 for none"},
      {{{"activation-scale", "1"}},
       "activation-scale \"1\" is too small; accepted: a whole number from 2 to 2147483647"},
      {{{"activation-scale", "x"}},
       "activation-scale \"x\" is not a whole number of 32 bits; accepted: a whole number from 2 "
       "to 2147483647"},
      {{{"activation-scale", "3"}, {"min-scale", "4"}},
       "activation-scale \"3\" is below min-scale \"4\"; accepted: a whole number from 4 to "
       "2147483647"},
      {{{"activation-scale", "9"}, {"max-scale", "3"}},
       "activation-scale \"9\" is above max-scale \"3\"; accepted: a whole number from 2 to 3"},
      {{{"target", "0"}}, "target \"0\" is out of range; accepted: a number of 0.01 or more"},
      {{{"target-utilization-percentage", "dinero"}},
       "target-utilization-percentage \"dinero\" is not a number; accepted: a number from 1 to "
       "100"},
      {{{"panic-window-percentage", "100.1"}},
       "panic-window-percentage \"100.1\" is out of range; accepted: a number from 1 to 100"},
      {{{"panic-threshold-percentage", "100"}},
       "panic-threshold-percentage \"100\" is out of range; accepted: a number from 110 to 1000"},
      {{{"target-burst-capacity", "-2"}},
       "target-burst-capacity \"-2\" is out of range; accepted: a number of 0 or more, or -1 for "
       "unlimited"},
      {{{"initial-scale", "0"}},
       "initial-scale \"0\" is too small; accepted: a whole number of 1 or more; 0 needs "
       "allow-zero-initial-scale"},
      {{{"initial-scale", "one"}},
       "initial-scale \"one\" is not a whole number; accepted: a whole number of 1 or more; 0 "
       "needs allow-zero-initial-scale"},
  });
}

TEST(Rejections, OfTheClustersLimitsNameThem) {
  ClusterConfig config;
  config.max_scale_limit = 11;
  config.allow_zero_initial_scale = true;

  expect_all({{{{"max-scale", "0"}},
               "max-scale \"0\" is outside the limit of the cluster (max-scale-limit); accepted: a "
               "whole number from 1 to 11"},
              {{{"initial-scale", "-1"}},
               "initial-scale \"-1\" is too small; accepted: a whole number of 0 or more"}},
             config);
}

TEST(Rejections, OfDurationsAndNamesInAnnotationsNameKeyValueRuleAndRange) {
  expect_all({
      {{{"window", "5s"}}, "window \"5s\" is out of range; accepted: whole seconds from 6s to 1h"},
      {{{"window", "90"}},
       "window \"90\" is not a duration like 30s or 1m30s; accepted: whole seconds from 6s to 1h"},
      {{{"scale-down-delay", "1500ms"}},
       "scale-down-delay \"1500ms\" is not whole seconds; accepted: whole seconds from 0s to 1h"},
      {{{"scale-to-zero-pod-retention-period", "1h1ns"}},
       "scale-to-zero-pod-retention-period \"1h1ns\" is out of range; accepted: a duration from 0s "
       "to 1h"},
      {{{"serving.knative.dev/progress-deadline", "1.5s"}},
       "serving.knative.dev/progress-deadline \"1.5s\" is out of range; accepted: whole seconds, "
       "0s or more"},
      {{{"serving.knative.dev/progress-deadline", "soon"}},
       "serving.knative.dev/progress-deadline \"soon\" is not a duration like 30s or 1m30s; "
       "accepted: whole seconds, 0s or more"},
      {{{"class", "other.knative.dev"}},
       "class \"other.knative.dev\" is not a Knative class; accepted: kpa.autoscaling.knative.dev, "
       "hpa.autoscaling.knative.dev, kpa.sluice.dev, or a name outside knative.dev"},
      {{{"metric", "cpu"}},
       "metric \"cpu\" is not a metric of class kpa.autoscaling.knative.dev; accepted: concurrency "
       "or "
       "rps"},
      {{{"metric", ""}, {"class", kHorizontalClass}},
       "metric \"\" is empty; accepted: cpu, memory or the name of a custom metric"},
      {{{"metric-aggregation-algorithm", "bad"}, {"class", kKnativeClass}},
       "metric-aggregation-algorithm \"bad\" is unknown; accepted: linear or weighted-exponential"},
  });
}

TEST(Rejections, OfOurOwnSettingsNameTheKnownOnes) {
  expect_all({
      {{{"autoscaling.sluice.dev/burst-capacity-hysteresis", "-1"}},
       "autoscaling.sluice.dev/burst-capacity-hysteresis \"-1\" is out of range; accepted: a "
       "finite number of requests, 0 (off) or more"},
      {{{"autoscaling.sluice.dev/burst-capacity-hysteresis", "Inf"}},
       "autoscaling.sluice.dev/burst-capacity-hysteresis \"Inf\" is out of range; accepted: a "
       "finite number of requests, 0 (off) or more"},
      {{{"autoscaling.sluice.dev/burst-capacity-hysteresis", "much"}},
       "autoscaling.sluice.dev/burst-capacity-hysteresis \"much\" is not a number; accepted: a "
       "finite number of requests, 0 (off) or more"},
      {{{"autoscaling.sluice.dev/magic", "1"}},
       "autoscaling.sluice.dev/magic \"1\" is an unknown setting; accepted: "
       "autoscaling.sluice.dev/burst-capacity-hysteresis, autoscaling.sluice.dev/ignore-paths, "
       "autoscaling.sluice.dev/ignore-user-agents"},
      {{{"autoscaling.sluice.dev/ignore-paths", "/healthz"}}, ""},
      {{{"autoscaling.sluice.dev/ignore-user-agents", "(?i)uptime"}}, ""},
      {{{"autoscaling.sluice.dev/burst-capacity-hysteresis", "20"}}, ""},
  });
}

}  // namespace
}  // namespace sluice::autoscaler
