#include "programs/sluice/engine/latency.h"

#include <gtest/gtest.h>

namespace sluice::local {
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

}  // namespace
}  // namespace sluice::local
