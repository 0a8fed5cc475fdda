#include "common/scaling/annotations.h"

#include "autoscaler/core/decision/decider.h"

#include <gtest/gtest.h>

#include <cmath>
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

TEST(Annotations, ClusterLimitAppliesOnlyWhenTheAnnotationIsPresent) {
  ClusterConfig config;
  config.max_scale_limit = 11;

  EXPECT_EQ(complaints({{"max-scale", "0"}}, config),
            "max-scale \"0\" is outside the limit of the cluster (max-scale-limit); accepted: a "
            "whole number from 1 to "
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

TEST(Resolve, UnreadableValuesCountAsAbsent) {
  const ScalingSpec spec = resolved({{"initial-scale", "4294967296"},
                                     {"window", "-5s"},
                                     {"panic-window-percentage", "1e9"},
                                     {"target", "x"}});

  EXPECT_EQ(spec, resolved({}));
}

TEST(Resolve, InitialScaleTooLargeForReplicasIsIgnored) {
  for (const char* oversized : {"2147483648", "4294967296", "9223372036854775807"}) {
    EXPECT_EQ(complaints({{"initial-scale", oversized}}), "");
    EXPECT_EQ(resolved({{"initial-scale", oversized}}).decider.initial_scale, 1);
  }
}

TEST(Resolve, AnnotatedMinimumAboveTheClustersMaximumIsAppliedFirst) {
  ClusterConfig config;
  config.max_scale = 3;

  const Bounds bounds = resolved({{"min-scale", "5"}}, 0, config).bounds;

  EXPECT_EQ(bounded_scale(4, bounds), 5);
  EXPECT_EQ(bounded_scale(6, bounds), 3);
}

TEST(Resolve, TargetThatIsNotANumberStaysSo) {
  EXPECT_TRUE(std::isnan(resolved({{"target", "NaN"}}).decider.target_value));
}

TEST(Resolve, HysteresisIsOffUntilSet) {
  const auto hysteresis = [](const StringMap& annotations) {
    return resolve({}, annotations, 0, Reachability::unknown).burst_capacity_hysteresis;
  };
  const std::string key{kBurstHysteresis};

  EXPECT_EQ(hysteresis({}), 0);
  EXPECT_EQ(hysteresis({{key, "12.5"}}), 12.5);
  for (const char* ignored : {"-1", "Inf", "NaN", "much", ""}) {
    EXPECT_EQ(hysteresis({{key, ignored}}), 0) << ignored;
  }
  EXPECT_EQ(hysteresis({{key, "5"}, {"autoscaling.knative.dev/target-burst-capacity", "0"}}), 0)
      << "switched off, it is no measure";
}

TEST(Resolve, InitialScaleOfZeroMustBeAllowedByTheCluster) {
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

TEST(Ownership, RevisionsThatNameOurClassAreOurs) {
  for (const bool knative : {false, true}) {
    EXPECT_TRUE(owns({.annotated = kOurClass, .knative_autoscaler_runs = knative}));
    EXPECT_FALSE(owns({.annotated = kKnativeClass, .knative_autoscaler_runs = knative}));
    EXPECT_FALSE(owns({.annotated = kHorizontalClass, .knative_autoscaler_runs = knative}));
    EXPECT_FALSE(owns({.annotated = "their.own", .knative_autoscaler_runs = knative}));
  }
}

TEST(Ownership, RevisionsWithoutAClassAreOursOnlyWithoutKnativesAutoscaler) {
  EXPECT_TRUE(owns({.annotated = {}}));
  EXPECT_TRUE(owns({.annotated = {}, .cluster_default = kOurClass}));
  EXPECT_FALSE(owns({.annotated = {}, .knative_autoscaler_runs = true}));
  EXPECT_FALSE(
      owns({.annotated = {}, .cluster_default = kOurClass, .knative_autoscaler_runs = true}));
}

TEST(Ownership, DefaultOfAnotherAutoscalerIsItsOwn) {
  EXPECT_FALSE(owns({.annotated = {}, .cluster_default = kHorizontalClass}));
  EXPECT_FALSE(owns({.annotated = {}, .cluster_default = "their.own"}));
}

}  // namespace
}  // namespace sluice::autoscaler
