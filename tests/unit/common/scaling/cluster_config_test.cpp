#include "common/scaling/cluster_config.h"

#include <gtest/gtest.h>

#include <cmath>

namespace sluice::autoscaler {
namespace {

using std::chrono::seconds;

std::string complaint(const StringMap& data) {
  const auto config = parse_cluster_config(data);
  return config ? "accepted" : config.error().text();
}

TEST(ClusterConfig, EmptyMapGivesTheDefaults) {
  const auto config = parse_cluster_config({});

  ASSERT_TRUE(config.has_value());
  EXPECT_EQ(*config, ClusterConfig{});
}

TEST(ClusterConfig, FallbacksOfItsKeysAreTheDefaultsInTheNotationOfTheMap) {
  StringMap all;
  for (const ClusterKey& key : cluster_config_keys()) {
    EXPECT_FALSE(key.meaning.empty() || key.accepted.empty()) << key.name;
    all[key.name] = key.fallback;
  }
  const auto config = parse_cluster_config(all);

  ASSERT_TRUE(config.has_value()) << config.error().text();
  EXPECT_EQ(*config, ClusterConfig{});
  EXPECT_EQ(all.size(), 20U);
}

TEST(ClusterConfig, EveryViolationIsFoundOnceForEachKey) {
  std::string found;
  for (const auto& wrong : cluster_config_problems({{"stable-window", "1500ms"},
                                                    {"max-scale-up-rate", "fast"},
                                                    {"initial-scale", "0"},
                                                    {"min-scale", "3"}})) {
    found += wrong.key + " ";
  }

  EXPECT_EQ(found, "max-scale-up-rate stable-window initial-scale ");
}

TEST(ClusterConfig, EveryKeyIsRead) {
  const auto config = parse_cluster_config({{"pod-autoscaler-class", "  mine  "},
                                            {"enable-scale-to-zero", "F"},
                                            {"allow-zero-initial-scale", "1"},
                                            {"container-concurrency-target-percentage", "80"},
                                            {"container-concurrency-target-default", "50"},
                                            {"requests-per-second-target-default", "20"},
                                            {"target-burst-capacity", "-1"},
                                            {"activator-capacity", "10"},
                                            {"max-scale-up-rate", "3"},
                                            {"max-scale-down-rate", "4"},
                                            {"stable-window", "30s"},
                                            {"panic-window-percentage", "20"},
                                            {"panic-threshold-percentage", "150"},
                                            {"scale-to-zero-grace-period", "5s"},
                                            {"scale-to-zero-pod-retention-period", "7s"},
                                            {"scale-down-delay", "9s"},
                                            {"initial-scale", "0"},
                                            {"min-scale", "1"},
                                            {"max-scale", "6"},
                                            {"max-scale-limit", "8"}});

  ASSERT_TRUE(config.has_value());
  EXPECT_EQ(*config, (ClusterConfig{.pod_autoscaler_class = "mine",
                                    .enable_scale_to_zero = false,
                                    .allow_zero_initial_scale = true,
                                    .container_concurrency_target_fraction = 0.8,
                                    .container_concurrency_target_default = 50,
                                    .target_utilization = 0.7,
                                    .rps_target_default = 20,
                                    .target_burst_capacity = -1,
                                    .activator_capacity = 10,
                                    .max_scale_up_rate = 3,
                                    .max_scale_down_rate = 4,
                                    .stable_window = seconds{30},
                                    .panic_window_percentage = 20,
                                    .panic_threshold_percentage = 150,
                                    .scale_to_zero_grace_period = seconds{5},
                                    .scale_to_zero_pod_retention_period = seconds{7},
                                    .scale_down_delay = seconds{9},
                                    .initial_scale = 0,
                                    .min_scale = 1,
                                    .max_scale = 6,
                                    .max_scale_limit = 8,
                                    .progress_deadline = seconds{600}}));
}

TEST(ClusterConfig, NumbersAreNotTrimmed) {
  EXPECT_EQ(complaint({{"max-scale-up-rate", " 2"}}),
            "max-scale-up-rate \" 2\" is not a number; accepted: a number above 1");
}

TEST(ClusterConfig, TextIsTrimmedOfUnicodeSpaceToo) {
  const auto config =
      parse_cluster_config({{"pod-autoscaler-class", "\xC2\xA0\t mine\xE3\x80\x80"}});

  EXPECT_EQ(config->pod_autoscaler_class, "mine");
}

TEST(ClusterConfig, LimitForbidsAnUnlimitedMaximum) {
  EXPECT_EQ(complaint({{"max-scale", "0"}, {"max-scale-limit", "11"}}),
            "max-scale \"0\" must not be unlimited with max-scale-limit \"11\"; accepted: a whole "
            "number from 1 to 11");
}

TEST(ClusterConfig, FirstViolationInOrderIsReported) {
  const std::string text = complaint({{"min-scale", "-1"}, {"scale-to-zero-grace-period", "0"}});

  EXPECT_TRUE(text.starts_with("scale-to-zero-grace-period \"0\"")) << text;
}

TEST(ClusterConfig, PercentageUpToOneIsAFraction) {
  EXPECT_EQ(parse_cluster_config({{"container-concurrency-target-percentage", "1"}})
                ->container_concurrency_target_fraction,
            1);
  EXPECT_DOUBLE_EQ(parse_cluster_config({{"container-concurrency-target-percentage", "1.0001"}})
                       ->container_concurrency_target_fraction,
                   0.010001);
}

TEST(ClusterConfig, NotANumberPassesTheComparisons) {
  EXPECT_TRUE(std::isnan(parse_cluster_config({{"max-scale-up-rate", "NaN"}})->max_scale_up_rate));
}

TEST(ClusterConfig, MinimumWithoutMaximumIsAccepted) {
  EXPECT_EQ(complaint({{"min-scale", "4"}}), "accepted");
}

TEST(ClusterConfig, UnknownAndRetiredKeysAreIgnored) {
  EXPECT_EQ(complaint({{"tick-interval", "nonsense"}, {"panic-window", "?"}}), "accepted");
}

TEST(ClusterConfig, DefaultsOfTheCallerHold) {
  ClusterConfig defaults;
  defaults.allow_zero_initial_scale = true;

  const auto config = parse_cluster_config({{"initial-scale", "0"}}, defaults);

  ASSERT_TRUE(config.has_value());
  EXPECT_EQ(config->initial_scale, 0);
}

}  // namespace
}  // namespace sluice::autoscaler
