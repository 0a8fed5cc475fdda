#include "memory-pressure/core/threshold.h"

#include "tests/unit/memory-pressure/core/scene.h"

#include <gtest/gtest.h>

namespace sluice::node_agent {
namespace {

using std::chrono_literals::operator""s;

struct Case {
  double growth = 0;  // MiB per second
  std::int64_t used = 500;
  std::optional<Stall> stall{};
  bool evicted = false;
};

NodeMemory memory_of(const Case& one) {
  return {.capacity = 1000 * kMiB, .used = one.used * kMiB, .stall = one.stall};
}

double upper(const Case& one) {
  Threshold threshold{PolicySettings{}};
  threshold.update(memory_of(one), one.growth * static_cast<double>(kMiB), one.evicted,
                   TimePoint{1s});
  return threshold.upper();
}

TEST(Threshold, NodeWithoutGrowthUsesU) {
  EXPECT_DOUBLE_EQ(upper({}), 0.90);
}

TEST(Threshold, FastGrowthPullsTheTriggerEarlier) {
  // One reaction below L: 250 + 25 + 100 ms; above L the samples come each 50 ms.
  EXPECT_NEAR(upper({.growth = 1000}), 1 - 0.375 - 0.01, 1e-9);
  EXPECT_NEAR(upper({.growth = 1000, .used = 850}), 1 - 0.175 - 0.01, 1e-9);
  EXPECT_DOUBLE_EQ(upper({.growth = 100}), 0.90);
  EXPECT_EQ(upper({.growth = 1e6}), 0);
}

TEST(Threshold, StallsLowerIt) {
  EXPECT_DOUBLE_EQ(upper({.stall = Stall{10.0, 0}}), 0.90);
  EXPECT_DOUBLE_EQ(upper({.stall = Stall{10.1, 0}}), 0.87);
}

TEST(Threshold, StallsActAboveSixtyPercentOnly) {
  const auto stalling = [](std::int64_t used, Stall stall) {
    Threshold threshold{PolicySettings{}};
    threshold.update(memory_of({.used = used, .stall = stall}), 0, false, TimePoint{1s});
    return threshold.is_stalling();
  };

  EXPECT_TRUE(stalling(610, {25.1, 0}));
  EXPECT_TRUE(stalling(610, {0, 5.1}));
  EXPECT_FALSE(stalling(600, {90, 90}));
  EXPECT_FALSE(stalling(990, {25, 5}));
}

TEST(Threshold, QuietUseAboveURaisesTheThresholdSlowlyUpTo97Percent) {
  Threshold threshold{PolicySettings{}};
  const auto at = [&](std::int64_t second, Case one) {
    threshold.update(memory_of(one), 0, false, TimePoint{std::chrono::seconds{second}});
    return threshold.upper();
  };
  const Case quiet{.used = 950, .stall = Stall{0, 0}};

  EXPECT_DOUBLE_EQ(at(0, quiet), 0.90);
  EXPECT_DOUBLE_EQ(at(59, quiet), 0.90);
  EXPECT_DOUBLE_EQ(at(60, quiet), 0.91);
  EXPECT_DOUBLE_EQ(at(119, quiet), 0.91);
  EXPECT_DOUBLE_EQ(at(120, quiet), 0.92);
  for (std::int64_t second = 121; second < 3000; ++second) at(second, quiet);
  EXPECT_DOUBLE_EQ(at(3000, quiet), 0.97);
  EXPECT_DOUBLE_EQ(at(3001, {.used = 950, .stall = Stall{11, 0}}), 0.87);
  EXPECT_DOUBLE_EQ(at(3002, {.used = 950, .stall = Stall{1, 0}}), 0.90);
}

TEST(Threshold, WithoutStallInformationUsageAndGrowthDecideAlone) {
  Threshold threshold{PolicySettings{}};
  for (std::int64_t second = 0; second < 600; ++second) {
    threshold.update(memory_of({.used = 950}), 0, false, TimePoint{std::chrono::seconds{second}});
  }

  EXPECT_DOUBLE_EQ(threshold.upper(), 0.90);
  EXPECT_FALSE(threshold.is_stalling());
}

TEST(Threshold, EvictionLowersItByTwoPointsForTenMinutes) {
  Threshold threshold{PolicySettings{}};
  const auto at = [&](std::int64_t second, bool evicted) {
    threshold.update(memory_of({}), 0, evicted, TimePoint{std::chrono::seconds{second}});
    return threshold.upper();
  };

  EXPECT_DOUBLE_EQ(at(0, true), 0.88);
  EXPECT_DOUBLE_EQ(at(599, false), 0.88);
  EXPECT_DOUBLE_EQ(at(600, false), 0.90);
}

}  // namespace
}  // namespace sluice::node_agent
