#include "autoscaler/core/decision/collector.h"

#include "common/ring/hash_ring.h"
#include "tests/unit/autoscaler/core/fixtures.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>

namespace sluice::autoscaler {
namespace {

using std::chrono::seconds;

TEST(Collector, LeavesOutLoadThatTheActivatorReportsToo) {
  Collector collector{DeciderSpec{}};

  collector.record({.average_concurrency = 5,
                    .average_proxied_concurrency = 2,
                    .request_count = 50,
                    .proxied_request_count = 10},
                   at(0));

  EXPECT_EQ(collector.averages(ScalingMetric::concurrency, at(0)).stable, 3);
  EXPECT_EQ(collector.averages(ScalingMetric::concurrency, at(0)).panic, 3);
  EXPECT_EQ(collector.averages(ScalingMetric::rps, at(0)).stable, 40);
}

TEST(Collector, SourcesOfOneSecondAddUp) {
  Collector collector{DeciderSpec{}};

  collector.record({.average_concurrency = 5}, at(0.2));
  collector.record({.average_concurrency = 7}, at(0.8));

  EXPECT_EQ(collector.averages(ScalingMetric::concurrency, at(0.9)).stable, 12);
}

TEST(Collector, StableAndPanicWindowsExpireSeparately) {
  Collector collector{DeciderSpec{}};
  collector.record({.average_concurrency = 6}, at(0));

  const auto later = collector.averages(ScalingMetric::concurrency, at(10));
  EXPECT_EQ(later.stable, 6) << "a plateau until the window has passed";
  EXPECT_EQ(later.panic, 0);

  EXPECT_EQ(collector.averages(ScalingMetric::concurrency, at(60)).stable, 0);
  EXPECT_FALSE(collector.averages(ScalingMetric::concurrency, at(60)).empty);
  EXPECT_TRUE(collector.averages(ScalingMetric::concurrency, at(61)).empty);
}

TEST(Collector, IsSilentAfterTenSecondsOrHalfItsStableWindow) {
  DeciderSpec spec;
  Collector collector{spec};
  EXPECT_FALSE(collector.silent(spec, at(0))) << "never heard of: no data, not silence";
  collector.record({.average_concurrency = 6}, at(0));

  EXPECT_FALSE(collector.silent(spec, at(9.9)));
  EXPECT_TRUE(collector.silent(spec, at(10)));
  spec.stable_window = seconds{8};
  EXPECT_TRUE(collector.silent(spec, at(4)));
}

TEST(Collector, UpdateResizesAllFourWindows) {
  DeciderSpec spec;
  spec.stable_window = seconds{6};
  spec.panic_window = seconds{2};
  Collector collector{spec};
  for (int second = 0; second < 6; ++second) {
    collector.record({.average_concurrency = 1.0 * second, .request_count = 10.0 * second},
                     at(second));
  }

  spec.stable_window = seconds{60};
  spec.panic_window = seconds{1};
  collector.update(spec, at(5));

  EXPECT_EQ(collector.averages(ScalingMetric::concurrency, at(5)).stable, 2.5);
  EXPECT_EQ(collector.averages(ScalingMetric::concurrency, at(5)).panic, 5);
  EXPECT_EQ(collector.averages(ScalingMetric::rps, at(5)).stable, 25);
  EXPECT_EQ(collector.averages(ScalingMetric::rps, at(5)).panic, 50);
}

TEST(Collector, KeepsTheAggregationItWasMadeWith) {
  DeciderSpec spec;
  Collector collector{spec};
  collector.record({.average_concurrency = 6}, at(0));

  spec.aggregation = Aggregation::weighted;
  collector.update(spec, at(0));

  EXPECT_EQ(collector.averages(ScalingMetric::concurrency, at(0)).stable, 6);
}

TEST(Sampling, GrowsSlowlyAndNeverBeyondSixteen) {
  EXPECT_EQ(sample_size(-1), 0);
  EXPECT_EQ(sample_size(3), 3);
  EXPECT_EQ(sample_size(10), 7);
  EXPECT_EQ(sample_size(588), 15);
  EXPECT_EQ(sample_size(589), 16);
  EXPECT_EQ(sample_size(1000000), 16);
}

TEST(Sampling, SamplesAreScaledToAllReadyPods) {
  const std::array<Stat, 2> answers{Stat{.average_concurrency = 2, .request_count = 10},
                                    Stat{.average_concurrency = 4, .request_count = 30}};

  const Stat all = scrape_average(answers, 10);

  EXPECT_EQ(all.average_concurrency, 30);
  EXPECT_EQ(all.request_count, 200);
}

}  // namespace
}  // namespace sluice::autoscaler
