#include "load/core/arrivals.h"

#include <gtest/gtest.h>

#include "load/core/load_plan.h"
#include <vector>

namespace sluice::loadgen {
namespace {

using namespace std::chrono_literals;

std::vector<Duration> all(ArrivalSchedule schedule) {
  std::vector<Duration> times;
  for (; schedule.next(); schedule.take()) times.push_back(*schedule.next());
  return times;
}

std::size_t between(const std::vector<Duration>& times, Duration from, Duration to) {
  std::size_t count = 0;
  for (const Duration time : times) count += time >= from && time < to ? 1U : 0U;
  return count;
}

TEST(ArrivalSchedule, SpacesUniformArrivalsEvenly) {
  const auto times = all({{{4, 1s}}, Arrivals::uniform, 1});

  EXPECT_EQ(times, (std::vector<Duration>{0ms, 250ms, 500ms, 750ms}));
}

TEST(ArrivalSchedule, RepeatsItselfForOneSeedAndNotForAnother) {
  const std::vector<Segment> segments{{100, 5s}, {900, 2s}};

  const auto first = all({segments, Arrivals::poisson, 42});

  EXPECT_EQ(first, all({segments, Arrivals::poisson, 42}));
  EXPECT_NE(first, all({segments, Arrivals::poisson, 43}));
}

TEST(ArrivalSchedule, StaysTheSameAcrossMachinesAndReleases) {
  const auto times = all({{{100, 1s}}, Arrivals::poisson, 1});

  // Recorded once. A change here makes every seed of every report mean something else.
  ASSERT_GE(times.size(), 3U);
  EXPECT_NEAR(to_seconds(times[0]), 0.001437, 1e-6);
  EXPECT_NEAR(to_seconds(times[1]), 0.002904, 1e-6);
  EXPECT_NEAR(to_seconds(times[2]), 0.008904, 1e-6);
}

TEST(ArrivalSchedule, KeepsThePoissonRateAndSpread) {
  const auto times = all({{{1000, 100s}}, Arrivals::poisson, 3});

  // 100,000 expected; four standard deviations are 1,265.
  EXPECT_NEAR(static_cast<double>(times.size()), 100'000, 1265);
  double sum = 0;
  double squares = 0;
  for (std::size_t i = 1; i < times.size(); ++i) {
    const double gap = to_seconds(times[i] - times[i - 1]) * 1000;
    ASSERT_GE(gap, 0);
    sum += gap;
    squares += gap * gap;
  }
  const auto count = static_cast<double>(times.size() - 1);
  const double mean = sum / count;
  EXPECT_NEAR(mean, 1, 0.02);
  EXPECT_NEAR(squares / count - mean * mean, 1, 0.05);  // an exponential's variance is its mean²
}

TEST(ArrivalSchedule, FollowsStepsAndPauses) {
  const auto times = all({{{20, 10s}, {0, 5s}, {400, 20s}}, Arrivals::uniform, 1});

  EXPECT_EQ(between(times, 0s, 10s), 200U);
  EXPECT_EQ(between(times, 10s, 15s), 0U);
  EXPECT_EQ(between(times, 15s, 35s), 8000U);
  EXPECT_EQ(times.size(), 8200U);
}

TEST(Shape, ReadsSteps) {
  const auto shape = parse_shape("step 20:10s, 400:1m30s,0.5:500ms");

  ASSERT_TRUE(shape);
  EXPECT_EQ(*shape, (std::vector<Segment>{{20, 10s}, {400, 90s}, {0.5, 500ms}}));
}

TEST(Shape, RefusesMalformedShapes) {
  for (const char* text : {"", "step", "step ", "step 20", "step 20:", "step :10s", "step 20:10",
                           "step -1:10s", "step 20:0s", "step 20:10s,", "ramp 1-2:10s",
                           "step 2000000:1s", "step 1e3:1s", "step 20:99999h"}) {
    EXPECT_FALSE(parse_shape(text)) << text;
  }
  std::string many = "step 1:1s";
  for (std::size_t i = 0; i < kSegmentsMax; ++i) many += ",1:1s";
  EXPECT_FALSE(parse_shape(many));
}

TEST(Pacer, StopsAtTheCount) {
  LoadPlan plan;
  plan.count = 3;
  Pacer pacer{plan};

  for (int i = 0; i < 3; ++i) pacer.take();

  EXPECT_FALSE(pacer.next());
}

TEST(Pacer, RunsTheWarmupAtTheFirstRateBeforeTheRest) {
  LoadPlan plan;
  plan.segments = {{10, 1s}, {100, 1s}};
  plan.arrivals = Arrivals::uniform;
  plan.warmup = 2s;
  Pacer pacer{plan};

  EXPECT_EQ(pacer.skip_until(2s - 1ns), 20U);
  EXPECT_EQ(pacer.skip_until(3s - 1ns), 10U);
  EXPECT_EQ(pacer.skip_until(1h), 100U);
}

}  // namespace
}  // namespace sluice::loadgen
