#include "common/load/request_stats.h"

#include <gtest/gtest.h>

namespace sluice::load {
namespace {

using namespace std::chrono_literals;

constexpr TimePoint kStart{1'700'000'000s};

// The worked examples of queue-proxy.md 6, in their order.

TEST(RequestStats, OverlappingRequestsAddUp) {
  RequestStats stats(kStart);
  stats.in(kStart);
  stats.in(kStart + 250ms);
  stats.out(kStart + 500ms);
  stats.out(kStart + 750ms);

  EXPECT_EQ(stats.report(kStart + 1s),
            (LoadReport{.average_concurrency = 1.0, .request_count = 2}));
}

TEST(RequestStats, LongRequestCountsOnceAndLoadsEveryInterval) {
  RequestStats stats(kStart + 4s);
  stats.in(kStart + 4200ms);
  (void)stats.report(kStart + 5s);
  stats.proxied_in(kStart + 5200ms);
  stats.proxied_out(kStart + 5700ms);

  const LoadReport seen = stats.report(kStart + 6s);

  EXPECT_DOUBLE_EQ(seen.average_concurrency, 1.5);
  EXPECT_DOUBLE_EQ(seen.average_proxied_concurrency, 0.5);
  EXPECT_EQ(seen.request_count, 1);
  EXPECT_EQ(seen.proxied_request_count, 1);
}

TEST(RequestStats, LateReportAveragesOverItsTrueLengthButCountsPlainly) {
  RequestStats stats(kStart);
  stats.in(kStart + 300ms);
  stats.in(kStart + 300ms);
  stats.proxied_in(kStart + 300ms);

  const LoadReport seen = stats.report(kStart + 1200ms);

  EXPECT_DOUBLE_EQ(seen.average_concurrency, 2.25);
  EXPECT_DOUBLE_EQ(seen.average_proxied_concurrency, 0.75);
  EXPECT_EQ(seen.request_count, 3);
  EXPECT_EQ(seen.proxied_request_count, 1);
}

TEST(RequestStats, WaitingIsLoad) {
  RequestStats stats(kStart);
  stats.in(kStart);
  stats.in(kStart);
  stats.out(kStart + 400ms);
  stats.out(kStart + 800ms);

  EXPECT_DOUBLE_EQ(stats.report(kStart + 1s).average_concurrency, 1.2);
}

// queue-proxy.md 13, row 51. The division by the nominal period is the reporter's.
TEST(RequestStats, CountsAreOfTheIntervalNotPerSecond) {
  RequestStats stats(kStart);
  for (int i = 0; i < 24; ++i) {
    stats.in(kStart);
    stats.out(kStart);
  }
  for (int i = 0; i < 15; ++i) {
    stats.proxied_in(kStart);
    stats.proxied_out(kStart);
  }

  const LoadReport seen = stats.report(kStart + 10s);

  EXPECT_EQ(seen.request_count / 10, 3.9);
  EXPECT_EQ(seen.proxied_request_count / 10, 1.5);
}

// queue-proxy.md 13, row 52.
TEST(RequestStats, TimeThatStepsBackCountsRequestsAndAccumulatesNothing) {
  RequestStats stats(kStart);
  stats.in(kStart + 500ms);
  stats.in(kStart + 100ms);
  EXPECT_EQ(stats.concurrency(), 2);

  const LoadReport seen = stats.report(kStart + 1s);

  EXPECT_DOUBLE_EQ(seen.average_concurrency, 1.0);
  EXPECT_EQ(seen.request_count, 2);
}

// queue-proxy.md 13, row 53.
TEST(RequestStats, SecondReportAtTheSameInstantIsAllZeros) {
  RequestStats stats(kStart);
  stats.proxied_in(kStart);
  (void)stats.report(kStart + 1s);

  EXPECT_EQ(stats.report(kStart + 1s), LoadReport{});
  EXPECT_EQ(stats.concurrency(), 1);
}

// autoscaler.md 14, row 100.
TEST(RequestStats, ReportWithoutElapsedTimeHasNoAverageAndKeepsItsCounts) {
  RequestStats stats(kStart);
  stats.in(kStart);
  stats.proxied_in(kStart);

  EXPECT_EQ(stats.report(kStart), (LoadReport{.request_count = 2, .proxied_request_count = 1}));
}

TEST(RequestStats, EndWithoutBeginningIsNotRefused) {
  RequestStats stats(kStart);

  stats.out(kStart);

  EXPECT_EQ(stats.concurrency(), -1);
  EXPECT_DOUBLE_EQ(stats.report(kStart + 1s).average_concurrency, -1.0);
}

}  // namespace
}  // namespace sluice::load
