#include "memory-pressure/core/growth.h"

#include "tests/unit/memory-pressure/core/scene.h"

#include <gtest/gtest.h>

namespace sluice::node_agent {
namespace {

constexpr Duration kStep = std::chrono::milliseconds{250};

/// Feeds `size(i)` MiB for `count` samples, a quarter of a second apart.
template <class Size>
Growth fed(int count, Size size) {
  Growth growth;
  TimePoint now{std::chrono::hours{1}};
  for (int i = 0; i < count; ++i, now += kStep) growth.sample(size(i) * kMiB, now, now);
  return growth;
}

TEST(Growth, SteadyClimbIsItsSlope) {
  const Growth growth = fed(60, [](int i) { return i * 4; });

  EXPECT_NEAR(growth.slope() / kMiB, 16.0, 0.1);
  EXPECT_EQ(growth.largest_rise(), 44 * kMiB);  // of 2.75 s: whole buckets of a half
}

TEST(Growth, SlopeHalvesEachSecondAfterTheClimb) {
  const Growth growth = fed(65, [](int i) { return std::min(i, 60) * 4; });

  EXPECT_NEAR(growth.slope() / kMiB, 8.0, 0.3);
}

TEST(Growth, HighWaterAndRiseAreHalvedInTenMinutes) {
  const Growth growth = fed(2400, [](int i) { return i < 4 ? 100 * (i + 1) : 100; });

  EXPECT_NEAR(static_cast<double>(growth.high_water()) / kMiB, 250.0, 2.0);
  EXPECT_NEAR(static_cast<double>(growth.largest_rise()) / kMiB, 150.0, 2.0);
}

TEST(Growth, OldSampleIsNotCountedTwice) {
  Growth growth;
  const TimePoint start{std::chrono::hours{1}};
  growth.sample(0, start, start);
  growth.sample(10 * kMiB, start + kStep, start + kStep);
  const double slope = growth.slope();
  growth.sample(10 * kMiB, start + kStep, start + 2 * kStep);

  EXPECT_EQ(growth.slope(), slope);
}

TEST(Growth, ClockThatStepsMakesNoSlope) {
  Growth growth;
  const TimePoint start{std::chrono::hours{1}};
  growth.sample(0, start, start);
  growth.sample(100 * kMiB, start - std::chrono::hours{1}, start + kStep);
  EXPECT_EQ(growth.slope(), 0);
  growth.sample(200 * kMiB, start + std::chrono::hours{9}, start + 2 * kStep);
  EXPECT_EQ(growth.slope(), 0);
}

TEST(Growth, MinuteOfRiseWithoutReleaseIsALeak) {
  EXPECT_TRUE(fed(4 * 65, [](int i) { return 100 + i; }).is_leaking());
  EXPECT_FALSE(fed(4 * 50, [](int i) { return 100 + i; }).is_leaking());
}

TEST(Growth, OscillationAndRestAreNotLeaks) {
  EXPECT_FALSE(fed(4 * 120, [](int i) { return 100 + (i % 100); }).is_leaking());
  EXPECT_FALSE(fed(4 * 120, [](int i) { return 100 + std::min(i, 40); }).is_leaking());
}

}  // namespace
}  // namespace sluice::node_agent
