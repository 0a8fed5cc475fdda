#include "autoscaler/core/annotations.h"

#include <gtest/gtest.h>

#include <string>

namespace sluice::autoscaler {
namespace {

using std::chrono::seconds;

StringMap annotations(const StringMap& names) {
  StringMap full;
  for (const auto& [name, value] : names) full["autoscaling.knative.dev/" + name] = value;
  return full;
}

// Every complaint on a line of its own, without the prefix of the keys.
std::string complaints(const StringMap& names, const ClusterConfig& config = {}) {
  std::string text;
  for (const auto& found : check_annotations(annotations(names), config)) {
    text += found.problem.text() + "\n";
  }
  const std::string prefix = "autoscaling.knative.dev/";
  for (auto at = text.find(prefix); at != std::string::npos; at = text.find(prefix)) {
    text.erase(at, prefix.size());
  }
  return text;
}

TEST(Annotations, EveryRejectionNamesKeyValueRuleAndRange) {
  EXPECT_EQ(complaints({{"min-scale", "-1"}}),
            "min-scale \"-1\" must not be negative; accepted: 0 to 2147483647\n");
  EXPECT_EQ(complaints({{"max-scale", "many"}}),
            "max-scale \"many\" is not a whole number of 32 bits; accepted: 0 to 2147483647\n");
  EXPECT_EQ(complaints({{"min-scale", "5"}, {"max-scale", "2"}}),
            "max-scale \"2\" is below min-scale \"5\"; change one of the two\n");
  EXPECT_EQ(complaints({{"activation-scale", "1"}}),
            "activation-scale \"1\" is too small; accepted: 2 to 2147483647\n");
  EXPECT_EQ(complaints({{"activation-scale", "9"}, {"max-scale", "3"}}),
            "activation-scale \"9\" is above max-scale \"3\"; change one of the two\n");
  EXPECT_EQ(complaints({{"target", "0"}}),
            "target \"0\" is out of range; accepted: 0.01 or more\n");
  EXPECT_EQ(complaints({{"panic-threshold-percentage", "100"}}),
            "panic-threshold-percentage \"100\" is out of range; accepted: 110 to 1000\n");
  EXPECT_EQ(complaints({{"target-burst-capacity", "-2"}}),
            "target-burst-capacity \"-2\" is out of range; accepted: 0 or more, or -1 for "
            "unlimited\n");
  EXPECT_EQ(complaints({{"window", "5s"}}),
            "window \"5s\" is out of range; accepted: whole seconds from 6s to 1h\n");
  EXPECT_EQ(complaints({{"scale-down-delay", "1500ms"}}),
            "scale-down-delay \"1500ms\" is not whole seconds; accepted: whole seconds from 0s to "
            "1h\n");
  EXPECT_EQ(complaints({{"metric", "cpu"}}),
            "metric \"cpu\" is no metric of class kpa.autoscaling.knative.dev; accepted: "
            "concurrency or rps\n");
  EXPECT_EQ(complaints({{"initial-scale", "0"}}),
            "initial-scale \"0\" is too small; accepted: 1 or more (0 needs "
            "allow-zero-initial-scale)\n");
}

TEST(Annotations, AllProblemsAreCollected) {
  EXPECT_EQ(
      check_annotations(annotations({{"min-scale", "x"}, {"window", "x"}, {"target", "x"}}), {})
          .size(),
      3U);
}

TEST(Annotations, DashedSpellingWinsEvenWhenItIsTheInvalidOne) {
  const auto found = check_annotations(annotations({{"min-scale", "-1"}, {"minScale", "3"}}), {});

  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].keys, std::vector<std::string>{"autoscaling.knative.dev/min-scale"});
}

TEST(Annotations, AliasesAreReadOnlyWhereTheyExist) {
  EXPECT_TRUE(find_annotation(annotations({{"maxScale", "3"}}), "max-scale"));
  EXPECT_FALSE(find_annotation(annotations({{"activationScale", "3"}}), "activation-scale"));
}

TEST(Annotations, ClusterLimitCountsOnlyWhenTheAnnotationIsPresent) {
  ClusterConfig config;
  config.max_scale_limit = 11;

  EXPECT_EQ(complaints({{"max-scale", "0"}}, config),
            "max-scale \"0\" is outside the limit of the cluster (max-scale-limit); accepted: 1 to "
            "11\n");
  EXPECT_EQ(complaints({}, config), "");
}

TEST(Annotations, AggregationIsCheckedOnlyForOurClasses) {
  EXPECT_EQ(complaints({{"metric-aggregation-algorithm", "bad"}}), "");
  EXPECT_NE(complaints({{"metric-aggregation-algorithm", "bad"}, {"class", kKnativeClass}}), "");
}

TEST(Annotations, OurOwnClassIsChecked) {
  EXPECT_EQ(complaints({{"class", kOurClass}}), "");
  EXPECT_NE(complaints({{"class", kOurClass}, {"metric", "cpu"}}), "");
  EXPECT_NE(complaints({{"class", "other.knative.dev"}}), "");
}

TEST(Annotations, WindowIsCheckedForEveryClass) {
  EXPECT_NE(complaints({{"window", "2s"}, {"class", kHorizontalClass}}), "");
}

TEST(Annotations, InitialScaleIsReadWithSixtyFourBits) {
  EXPECT_EQ(complaints({{"initial-scale", "4294967296"}}), "");
  EXPECT_NE(complaints({{"initial-scale", "9223372036854775808"}}), "");
}

ScalingSpec resolved(const StringMap& names, std::int64_t concurrency = 0,
                     const ClusterConfig& config = {}) {
  return resolve(config, annotations(names), concurrency, Reachability::unknown);
}

TEST(Resolve, TargetIsTheShareOfTheCapacity) {
  const auto target_and_total = [](const StringMap& names, std::int64_t concurrency) {
    const DeciderSpec spec = resolved(names, concurrency).decider;
    return std::pair{spec.target_value, spec.total_value};
  };
  using Pair = std::pair<double, double>;

  EXPECT_EQ(target_and_total({}, 0), Pair(70, 100));
  EXPECT_EQ(target_and_total({}, 10), Pair(7, 10));
  EXPECT_EQ(target_and_total({}, 1), Pair(0.7, 1));
  EXPECT_EQ(target_and_total({{"target", "250"}}, 10), Pair(7, 10));
  EXPECT_EQ(target_and_total({{"target", "250"}, {"target-utilization-percentage", "75"}}, 0),
            Pair(187.5, 250));
  EXPECT_EQ(target_and_total({{"target", "250"}, {"metric", "rps"}}, 10), Pair(175, 250));
}

TEST(Resolve, PanicWindowIsAShareInWholeSeconds) {
  EXPECT_EQ(resolved({{"window", "6s"}}).decider.panic_window, seconds{1});
  EXPECT_EQ(resolved({{"window", "25s"}}).decider.panic_window, seconds{3});
  EXPECT_EQ(resolved({{"panic-window-percentage", "NaN"}}).decider.panic_window, seconds{1});
}

TEST(Resolve, ValuesNobodyCouldReadCountAsAbsent) {
  const ScalingSpec spec = resolved({{"initial-scale", "4294967296"},
                                     {"window", "-5s"},
                                     {"panic-window-percentage", "1e9"},
                                     {"target", "x"}});

  EXPECT_EQ(spec, resolved({}));
}

TEST(Resolve, InitialScaleOfZeroNeedsTheClustersLeave) {
  EXPECT_EQ(resolved({{"initial-scale", "0"}}).decider.initial_scale, 1);
  ClusterConfig config;
  config.allow_zero_initial_scale = true;
  EXPECT_EQ(resolved({{"initial-scale", "0"}}, 0, config).decider.initial_scale, 0);
}

TEST(Resolve, UnreachableRevisionsKeepTheirMaximumAndLoseTheirMinimum) {
  const ScalingSpec spec = resolve({}, annotations({{"min-scale", "2"}, {"max-scale", "5"}}), 0,
                                   Reachability::unreachable);

  EXPECT_EQ(spec.bounds, (Bounds{.min = 0, .max = 5}));
  EXPECT_FALSE(spec.decider.reachable);
}

TEST(Resolve, AnnotatedRetentionOfZeroBeatsTheCluster) {
  ClusterConfig config;
  config.scale_to_zero_pod_retention_period = seconds{40};

  EXPECT_EQ(resolved({{"scale-to-zero-pod-retention-period", "0s"}}, 0, config).zero.retention,
            Duration{0});
  EXPECT_EQ(resolved({}, 0, config).zero.retention, seconds{40});
}

TEST(Resolve, UnlimitedBurstCapacityLeavesNothingToScrape) {
  EXPECT_FALSE(resolved({{"target-burst-capacity", "-1"}}).decider.has_scrape_target);
  EXPECT_TRUE(resolved({{"target-burst-capacity", "0"}}).decider.has_scrape_target);
}

}  // namespace
}  // namespace sluice::autoscaler
