#include "load/core/arrivals.h"

#include <gtest/gtest.h>

#include "load/core/load_plan.h"
#include "load/core/shape.h"
#include <algorithm>
#include <cmath>
#include <cstdint>
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

// Every kind of item in one run.
constexpr const char* kEveryItem =
    "ramp 0-200:20s, 200:10s, exp 200-2:20s, pause 5s, sine 0-120/7s:30s, spike 900:4s, "
    "day 3-90:60s, exp 1-300:15s, ramp 300-0:10s";

std::vector<Segment> every_item() {
  return *parse_shape(kEveryItem);
}

// The integral of the rate from the start, segment by segment, by fine steps of their rates.
double integral_at(const std::vector<Segment>& segments, Duration at) {
  double sum = 0;
  for (const Segment& segment : segments) {
    if (at >= segment.length) {
      sum += expected_arrivals(segment);
      at -= segment.length;
      continue;
    }
    // The inverse is proved in segment_test.cpp; here it is searched.
    double low = 0;
    double high = expected_arrivals(segment);
    for (int i = 0; i < 60; ++i) {
      const double middle = (low + high) / 2;
      (seconds_until(segment, middle) <= to_seconds(at) ? low : high) = middle;
    }
    return sum + low;
  }
  return sum;
}

TEST(ArrivalSchedule, KeepsUniformArrivalsWithinOneOfTheIntegral) {
  const std::vector<Segment> segments = every_item();
  const auto times = all({segments, Arrivals::uniform, 1});

  std::size_t count = 0;
  for (Duration at{0}; at <= 174s; at += 13ms) {
    while (count < times.size() && times[count] <= at) ++count;
    const double wanted = integral_at(segments, at);
    EXPECT_LE(std::abs(static_cast<double>(count) - wanted), 1 + 1e-6) << to_seconds(at);
  }
  EXPECT_EQ(count, times.size());
}

TEST(ArrivalSchedule, DrawsPoissonArrivalsAroundTheMeanOfEachItem) {
  for (const char* text : {"step 200:100s", "ramp 0-400:100s", "exp 1-1000:100s",
                           "sine 10-390/7s:100s", "spike 400:100s", "day 10-400:100s"}) {
    const auto segments = *parse_shape(text);
    double wanted = 0;
    for (const Segment& segment : segments) wanted += expected_arrivals(segment);

    const auto times = all({segments, Arrivals::poisson, 5});

    EXPECT_NEAR(static_cast<double>(times.size()), wanted, 4 * std::sqrt(wanted)) << text;
    EXPECT_TRUE(std::is_sorted(times.begin(), times.end())) << text;
    EXPECT_LT(times.back(), 100s) << text;
  }
}

// FNV-1a over the nanoseconds.
std::uint64_t digest_of(const std::vector<Duration>& times) {
  std::uint64_t digest = 0xcbf29ce484222325;
  for (const Duration time : times) {
    for (int shift = 0; shift < 64; shift += 8) {
      digest ^= (static_cast<std::uint64_t>(time.count()) >> shift) & 0xffU;
      digest *= 0x100000001b3;
    }
  }
  return digest;
}

// Recorded once; the same at every optimisation and with fused multiply-add. A change here makes
// every seed of every report mean something else.
TEST(ArrivalSchedule, HasTheSameDigestOnEveryMachine) {
  EXPECT_EQ(digest_of(all({every_item(), Arrivals::uniform, 1})), 5908861377383030697U);
  EXPECT_EQ(digest_of(all({every_item(), Arrivals::poisson, 7})), 9785987033343694118U);
}

TEST(ArrivalSchedule, SharedAmongWalkersIsTheSameSchedule) {
  const auto whole = all({every_item(), Arrivals::poisson, 7});
  constexpr std::size_t kWalkers = 3;
  std::vector<Duration> joined(whole.size());
  for (std::size_t walker = 0; walker < kWalkers; ++walker) {
    ArrivalSchedule schedule{every_item(), Arrivals::poisson, 7};
    for (std::size_t k = 0; schedule.next(); ++k, schedule.take()) {
      if (k % kWalkers == walker) joined.at(k) = *schedule.next();
    }
  }

  EXPECT_EQ(joined, whole);
}

TEST(Pacer, StopsAtTheCount) {
  LoadPlan plan;
  plan.count = 3;
  Pacer pacer{plan};

  for (int i = 0; i < 3; ++i) pacer.take();

  EXPECT_FALSE(pacer.next());
}

std::uint64_t skipped(Pacer& pacer, Duration until) {
  std::uint64_t count = 0;
  pacer.skip_until(until, [&count](const PlannedRequest&) { ++count; });
  return count;
}

TEST(Pacer, RunsTheWarmupAtTheFirstRateBeforeTheRest) {
  LoadPlan plan;
  plan.phases[0].segments = {{10, 1s}, {100, 1s}};
  plan.arrivals = Arrivals::uniform;
  plan.warmup = 2s;
  Pacer pacer{plan};

  EXPECT_EQ(skipped(pacer, 2s - 1ns), 20U);
  EXPECT_EQ(skipped(pacer, 3s - 1ns), 10U);
  EXPECT_EQ(skipped(pacer, 1h), 100U);
}

}  // namespace
}  // namespace sluice::loadgen
