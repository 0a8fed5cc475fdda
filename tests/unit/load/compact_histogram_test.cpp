#include "load/core/compact_histogram.h"

#include <gtest/gtest.h>

#include <limits>

namespace sluice::loadgen {
namespace {

using namespace std::chrono_literals;
using Bucket = CompactHistogram::Bucket;

TEST(CompactHistogram, KeepsTwoDigitsFromAMicrosecondToAnHour) {
  for (Duration value = 1us; value <= CompactHistogram::kLongest; value = value * 21 / 20 + 1us) {
    CompactHistogram histogram;
    histogram.record(value);
    const Duration shown = histogram.percentile(50);
    ASSERT_GE(shown, value);
    ASSERT_LE(shown.count(), value.count() + value.count() / 128 + 1000) << value.count();
  }
}

TEST(CompactHistogram, KeepsThreeDigitsFromANanosecondToAnHour) {
  for (Duration value = 1ns; value <= CompactHistogram::kLongest; value = value * 11 / 10 + 1ns) {
    CompactHistogram histogram{CompactHistogram::Digits::three};
    histogram.record(value);
    const Duration shown = histogram.percentile(50);
    ASSERT_GE(shown, value);
    ASSERT_LE(shown.count(), value.count() + value.count() / 1024);
    CompactHistogram coarse;
    coarse.record(shown);
    ASSERT_EQ(histogram.coarse(), coarse);
    ASSERT_EQ(histogram.text(), coarse.text());
  }
}

TEST(CompactHistogram, CountsWhatIsOutOfRangeAtItsEnds) {
  CompactHistogram histogram;
  histogram.record(-1s);
  histogram.record(200h);

  ASSERT_EQ(histogram.buckets().size(), 2U);
  EXPECT_EQ(histogram.buckets()[0], (Bucket{0, 1}));
  EXPECT_GE(histogram.percentile(100), 1h);
  EXPECT_EQ(CompactHistogram{}.percentile(99), 0s) << "nothing was counted";
}

TEST(CompactHistogram, FindsPercentilesByTheirRank) {
  CompactHistogram histogram;
  for (int i = 1; i <= 100; ++i) histogram.record(i * 1us);

  EXPECT_EQ(histogram.percentile(50), 50us);
  EXPECT_EQ(histogram.percentile(99), 99us);
  EXPECT_EQ(histogram.percentile(0), 1us);
}

TEST(CompactHistogram, AddsAnotherOneBucketByBucket) {
  CompactHistogram one;
  CompactHistogram other;
  for (const Duration value : {5us, 9us}) one.record(value);
  for (const Duration value : {1us, 9us, 30us}) other.record(value);

  one.add(other);

  EXPECT_EQ(one.buckets(), (std::vector<Bucket>{{1, 1}, {5, 1}, {9, 2}, {30, 1}}));
  EXPECT_EQ(one.count(), 5U);
}

TEST(CompactHistogram, IsWrittenAsDistancesAndReadBack) {
  CompactHistogram histogram;
  for (const Duration value : {98us, 99us, 99us, 111us, 2000us}) histogram.record(value);

  EXPECT_EQ(histogram.text(), "98 1x2 12 523");
  const auto read = CompactHistogram::parse(histogram.text());
  ASSERT_TRUE(read) << read.error().text();
  EXPECT_EQ(*read, histogram);
  EXPECT_EQ(histogram.upper_edge(634), 2007us) << "2 ms is between 2,000 and 2,007 us";
  EXPECT_EQ(*CompactHistogram::parse(""), CompactHistogram{});
}

TEST(CompactHistogram, RefusesATextThatIsNone) {
  for (const char* text : {"x", "1x", "1x0", "1xx2", "-1", "1 0", "1  2", "4000", "99999999999",
                           "1x99999999999", "1 a", "1x1x1"}) {
    EXPECT_FALSE(CompactHistogram::parse(text)) << text;
  }
  EXPECT_FALSE(CompactHistogram::parse(std::string(70'000, '1')));
}

}  // namespace
}  // namespace sluice::loadgen
