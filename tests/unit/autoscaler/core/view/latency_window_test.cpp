#include "autoscaler/core/view/latency_window.h"

#include <gtest/gtest.h>

namespace sluice::autoscaler {
namespace {

using namespace std::chrono_literals;

constexpr TimePoint kStart{1'700'000'010s};  // the begin of a half minute

TEST(LatencyWindow, IsZeroWithoutRequests) {
  const LatencyWindow window;

  EXPECT_EQ(window.quantile_ms(0.5, kStart), 0);
  EXPECT_EQ(window.rate(kStart), 0);
}

TEST(LatencyWindow, FindsQuantilesWithinAnEighth) {
  LatencyWindow window;
  for (int i = 1; i <= 1000; ++i) window.record(i * 1ms, kStart);

  for (const double quantile : {0.1, 0.5, 0.9, 0.99}) {
    const double exact = 1000 * quantile;
    EXPECT_GE(window.quantile_ms(quantile, kStart), exact) << quantile;
    EXPECT_LE(window.quantile_ms(quantile, kStart), exact * 1.13) << quantile;
  }
}

TEST(LatencyWindow, TakesExtremes) {
  LatencyWindow window;
  window.record(Duration{-5}, kStart);
  window.record(std::chrono::hours{10'000}, kStart);

  EXPECT_GT(window.quantile_ms(1.0, kStart), 1000);
}

TEST(LatencyWindow, CountsARequestForAMinuteAtMost) {
  LatencyWindow window;
  window.record(10ms, kStart);

  EXPECT_GT(window.quantile_ms(0.5, kStart + 29s), 0);
  EXPECT_GT(window.quantile_ms(0.5, kStart + 59s), 0);
  EXPECT_EQ(window.quantile_ms(0.5, kStart + 60s), 0);
}

TEST(LatencyWindow, CountsTheSecondBefore) {
  LatencyWindow window;
  for (int i = 0; i < 7; ++i) window.record(1ms, kStart);

  EXPECT_EQ(window.rate(kStart + 1s), 7);
  EXPECT_EQ(window.rate(kStart + 2s), 0);
}

TEST(LatencyMark, TakesEachRequestOnceWhenLooksAreASecondApart) {
  LatencyWindow window;
  LatencyMark mark;
  std::uint64_t taken = 0;
  // Over three ends of a half minute.
  for (int second = 0; second < 100; ++second) {
    for (int i = 0; i <= second % 7; ++i) window.record(3ms, kStart + second * 1s);
    const std::uint64_t news = mark.take(window, kStart + second * 1s + 900ms).total();
    EXPECT_EQ(news, static_cast<std::uint64_t>(second % 7 + 1)) << second;
    taken += news;
  }
  EXPECT_GT(taken, 300U);
  EXPECT_EQ(mark.take(window, kStart + 100s).total(), 0U);
}

TEST(LatencyMark, TakesWhatCameAfterTheLastLookOfAnEarlierHalfMinute) {
  LatencyWindow window;
  LatencyMark mark;
  window.record(1ms, kStart + 28s);
  EXPECT_EQ(mark.take(window, kStart + 28s).total(), 1U);
  window.record(1ms, kStart + 29s);
  window.record(1ms, kStart + 31s);
  EXPECT_EQ(mark.take(window, kStart + 31s).total(), 2U);
}

TEST(LatencyCounts, KeepsEveryRequestInTheBucketsOfAHeatMap) {
  LatencyCounts counts;
  for (const Duration took : {Duration{0}, Duration{900us}}) counts.record(took);
  for (const Duration took : {Duration{1200us}, Duration{1400us}}) counts.record(took);
  counts.record(2000ms);
  counts.record(1h);

  const HeatCounts heat = counts.heat();
  EXPECT_EQ(heat[0], 2U);
  EXPECT_EQ(heat[1], 2U);
  EXPECT_EQ(heat[19], 1U);  // up to 1.5^19 = 2217 ms
  EXPECT_EQ(heat[kHeatBuckets - 1], 1U);
  std::uint64_t sum = 0;
  for (const std::uint32_t count : heat) sum += count;
  EXPECT_EQ(sum, counts.total());
}

}  // namespace
}  // namespace sluice::autoscaler
