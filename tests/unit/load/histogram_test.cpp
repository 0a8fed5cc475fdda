#include "load/core/histogram.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

namespace sluice::loadgen {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;

// The naive twin: all values kept and sorted.
Duration exact_percentile(std::vector<Duration> values, double percent) {
  std::sort(values.begin(), values.end());
  const double rank = std::ceil(percent / 100 * static_cast<double>(values.size()) - 1e-9);
  return values[static_cast<std::size_t>(std::max(rank, 1.0)) - 1];
}

TEST(Histogram, HasWhatAnotherHasCounted) {
  Histogram one;
  one.record(milliseconds{10}, 3);
  one.record(milliseconds{40}, 0);
  Histogram other;
  other.record(milliseconds{20});
  Histogram all;
  all.add(one);
  all.add(other);
  all.add(Histogram{});

  EXPECT_EQ(all.count(), 4U);
  EXPECT_EQ(all.min(), milliseconds{10});
  EXPECT_EQ(all.max(), milliseconds{20});
  EXPECT_EQ(all.mean(), std::chrono::microseconds{12'500});
  EXPECT_EQ(all.percentile(100), milliseconds{20});
}

TEST(Histogram, AgreesWithSortedValuesToThreeDigits) {
  std::mt19937_64 random{7};
  for (int round = 0; round < 20; ++round) {
    Histogram histogram;
    std::vector<Duration> values;
    for (int i = 0; i < 2000; ++i) {
      // Spread over all magnitudes from a nanosecond to an hour.
      const double exponent = static_cast<double>(random() % 12'500) / 1000;
      values.emplace_back(static_cast<std::int64_t>(std::pow(10.0, exponent)));
      histogram.record(values.back());
    }

    for (const double percent : {1.0, 50.0, 75.0, 90.0, 99.0, 99.9, 99.99, 100.0}) {
      const auto exact = static_cast<double>(exact_percentile(values, percent).count());
      const auto found = static_cast<double>(histogram.percentile(percent).count());
      EXPECT_GE(found, exact) << percent;
      EXPECT_LE(found, exact * 1.001) << percent;
    }
    EXPECT_EQ(histogram.max(), *std::max_element(values.begin(), values.end()));
    EXPECT_EQ(histogram.min(), *std::min_element(values.begin(), values.end()));
  }
}

TEST(Histogram, AnswersZeroWhenEmpty) {
  const Histogram histogram;

  EXPECT_EQ(histogram.count(), 0U);
  EXPECT_EQ(histogram.percentile(99), Duration::zero());
  EXPECT_EQ(histogram.min(), Duration::zero());
  EXPECT_EQ(histogram.mean(), Duration::zero());
}

TEST(Histogram, ClampsValuesThatAreOutOfRange) {
  Histogram histogram;
  histogram.record(hours{30});
  histogram.record(milliseconds{-5});

  EXPECT_EQ(histogram.max(), Histogram::kLongest);
  EXPECT_EQ(histogram.min(), Duration::zero());
  EXPECT_EQ(histogram.percentile(100), Histogram::kLongest);
}

TEST(Histogram, AddsAnotherAsIfAllHadBeenCountedByOne) {
  Histogram all;
  Histogram first;
  Histogram second;
  for (int i = 1; i <= 1000; ++i) {
    const Duration value = std::chrono::microseconds{i * i};
    all.record(value);
    (i % 3 == 0 ? first : second).record(value);
  }

  first.add(second);

  EXPECT_EQ(first.count(), 1000U);
  EXPECT_EQ(first.min(), all.min());
  EXPECT_EQ(first.max(), all.max());
  EXPECT_EQ(first.mean(), all.mean());
  for (const double percent : {1.0, 50.0, 99.0}) {
    EXPECT_EQ(first.percentile(percent), all.percentile(percent));
  }
}

TEST(Histogram, CountsUpToAValue) {
  Histogram times;
  for (int i = 1; i <= 100; ++i) times.record(std::chrono::milliseconds{i});

  EXPECT_EQ(times.count_to(Duration{-1}), 0U);
  EXPECT_EQ(times.count_to(std::chrono::milliseconds{50}), 50U);
  EXPECT_EQ(times.count_to(std::chrono::microseconds{50'500}), 50U);
  EXPECT_EQ(times.count_to(std::chrono::hours{2}), 100U);
}

}  // namespace
}  // namespace sluice::loadgen
