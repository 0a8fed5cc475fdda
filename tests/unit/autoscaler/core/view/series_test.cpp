#include "autoscaler/core/view/series.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace sluice::autoscaler {
namespace {

constexpr std::int64_t kFirstSecond = 1'700'000'000;
const RevisionId kSeriesOfApp{"default", "app"};

SeriesPoint busy_point(float rate) {
  SeriesPoint point;
  point[Figure::ready] = 7;
  point[Figure::want] = 8;
  point[Figure::stable] = 15.2F;
  point[Figure::target] = 7;
  point[Figure::rps] = rate;
  point[Figure::errors] = 2;
  point[Figure::queued] = rate / 10;
  point[Figure::p50_ms] = rate;
  point[Figure::p99_ms] = rate * 2;
  point.latency[3] = 41;
  point.latency[23] = 1'000'000;
  return point;
}

TEST(Series, GivesBackEachSecondWithinItsPrecision) {
  SeriesBook book;
  for (int i = 0; i < 5; ++i)
    book.add(kSeriesOfApp, kFirstSecond + i, busy_point(392.0F + static_cast<float>(i)));

  const SeriesSlice slice = book.read(kSeriesOfApp, kFirstSecond, kFirstSecond + 5, 1);
  EXPECT_EQ(slice.start_s, kFirstSecond);
  ASSERT_EQ(slice.rows.size(), 5U);
  for (int i = 0; i < 5; ++i) {
    ASSERT_TRUE(slice.rows[static_cast<std::size_t>(i)]);
    const SeriesPoint& point = *slice.rows[static_cast<std::size_t>(i)];
    EXPECT_EQ(point[Figure::ready], 7);
    EXPECT_EQ(point[Figure::starting], 0);
    EXPECT_EQ(point[Figure::rps], 392.0F + static_cast<float>(i));
    EXPECT_NEAR(point[Figure::stable], 15.2, 15.2 * 0.0005);
    EXPECT_EQ(point.latency[2], 0U);
    EXPECT_NEAR(point.latency[3], 41, 41.0 / 16);
    EXPECT_LT(point.latency[23], 1'000'001U);
    EXPECT_GT(point.latency[23], 400'000U);
  }
}

TEST(Series, AFigureThatIsMissingStaysMissing) {
  SeriesBook book;
  SeriesPoint point;
  point[Figure::queued] = std::numeric_limits<float>::quiet_NaN();
  point[Figure::rps] = 1e-9F;
  book.add(kSeriesOfApp, kFirstSecond, point);
  const SeriesSlice slice = book.read(kSeriesOfApp, kFirstSecond, kFirstSecond + 1, 1);
  EXPECT_TRUE(std::isnan((*slice.rows.at(0))[Figure::queued]));
  EXPECT_EQ((*slice.rows.at(0))[Figure::rps], 0);
}

TEST(Series, ASecondWithoutAPointIsAbsent) {
  SeriesBook book;
  book.add(kSeriesOfApp, kFirstSecond, busy_point(1));
  book.add(kSeriesOfApp, kFirstSecond + 2, busy_point(1));
  const SeriesSlice slice = book.read(kSeriesOfApp, kFirstSecond - 1, kFirstSecond + 3, 1);
  ASSERT_EQ(slice.rows.size(), 4U);
  EXPECT_FALSE(slice.rows[0]);
  EXPECT_TRUE(slice.rows[1]);
  EXPECT_FALSE(slice.rows[2]);
  EXPECT_TRUE(slice.rows[3]);
  EXPECT_TRUE(book.read({"default", "other"}, kFirstSecond, kFirstSecond + 3, 1).rows.empty());
}

TEST(Series, TenSecondsHaveTheMeanTheMostAndTheLast) {
  SeriesBook book;
  for (int i = 0; i < 20; ++i)
    book.add(kSeriesOfApp, kFirstSecond + i, busy_point(i < 10 ? 10.0F : 30.0F));
  const SeriesSlice slice = book.read(kSeriesOfApp, kFirstSecond, kFirstSecond + 10, 10);
  ASSERT_EQ(slice.rows.size(), 1U);
  const SeriesPoint& point = *slice.rows[0];
  EXPECT_EQ(point[Figure::ready], 7);
  EXPECT_EQ(point[Figure::rps], 10);
  EXPECT_EQ(point[Figure::errors], 20);
  EXPECT_EQ(point[Figure::queued], 1);
  EXPECT_EQ(point[Figure::p50_ms], 10);
  EXPECT_EQ(point[Figure::p99_ms], 20);
  // Of two tens, the second of which has as many requests.
  book.add(kSeriesOfApp, kFirstSecond + 20, busy_point(0));
  const SeriesSlice both = book.read(kSeriesOfApp, kFirstSecond, kFirstSecond + 20, 20);
  ASSERT_EQ(both.rows.size(), 1U);
  EXPECT_EQ((*both.rows[0])[Figure::rps], 20);
  EXPECT_NEAR((*both.rows[0])[Figure::p50_ms], 20, 0.02);
  EXPECT_EQ((*both.rows[0])[Figure::p99_ms], 60);
}

TEST(PointMerge, TheMostIsThatOfAnyPoint) {
  PointMerge merge;
  EXPECT_FALSE(merge.result());
  SeriesPoint low = busy_point(10);
  low[Figure::in_flight] = 9;
  merge.add(busy_point(30));
  merge.add(low);
  merge.add(busy_point(20));
  const SeriesPoint point = *merge.result();
  EXPECT_EQ(point[Figure::p99_ms], 60);
  EXPECT_EQ(point[Figure::queued], 3);
  EXPECT_EQ(point[Figure::in_flight], 9);
  EXPECT_EQ(point[Figure::rps], 20);
  EXPECT_EQ(point.latency[3], 123U);
}

TEST(Series, KeepsFiveMinutesOfSecondsAndSixHoursOfTens) {
  SeriesBook book;
  constexpr std::int64_t kEnd = kFirstSecond + 7 * 3600;
  for (std::int64_t at = kFirstSecond; at < kEnd; ++at) book.add(kSeriesOfApp, at, busy_point(100));
  const auto known = [](const SeriesSlice& slice) {
    std::size_t count = 0;
    for (const auto& row : slice.rows) count += row ? 1U : 0U;
    return count;
  };
  const SeriesSlice last_seconds = book.read(kSeriesOfApp, kEnd - 300, kEnd, 1);
  EXPECT_EQ(last_seconds.rows.size(), 300U);
  EXPECT_EQ(known(last_seconds), 300U);
  const SeriesSlice tens = book.read(kSeriesOfApp, kEnd - 6 * 3600, kEnd, 10);
  EXPECT_EQ(tens.rows.size(), 2160U);
  EXPECT_GE(known(tens), 2159U);  // the last one is being gathered
  EXPECT_LE(book.bytes(), SeriesBook::kBytesMaxEach);
  EXPECT_EQ(known(book.read(kSeriesOfApp, kEnd - 7 * 3600, kEnd - 6 * 3600 - 600, 10)), 0U);
}

TEST(Series, StaysWithinItsBytesWithTheLargestPoints) {
  SeriesPoint full;
  full.figures.fill(123.4F);
  full.latency.fill(1000);
  SeriesBook book;
  for (std::int64_t at = kFirstSecond; at < kFirstSecond + 7 * 3600; ++at)
    book.add(kSeriesOfApp, at, full);
  EXPECT_LE(book.bytes(), SeriesBook::kBytesMaxEach);
  EXPECT_GT(book.bytes(), SeriesBook::kBytesMaxEach * 3 / 4);
}

TEST(Series, DropsTheServiceThatIsAsleepLongestWhenThereIsNoRoom) {
  constexpr std::size_t kRoom = 100'000;
  SeriesBook book{kRoom};
  for (int service = 0; service < 100; ++service) {
    for (int i = 0; i < 300; ++i) {
      book.add({"default", std::to_string(service)}, kFirstSecond + service * 300 + i,
               busy_point(50));
    }
    ASSERT_LE(book.bytes(), kRoom);
  }
  EXPECT_LT(book.size(), 100U);
  const std::int64_t last = kFirstSecond + 99 * 300;
  EXPECT_TRUE(book.read({"default", "99"}, last + 290, last + 300, 1).rows.at(9));
  EXPECT_TRUE(book.read({"default", "0"}, kFirstSecond, kFirstSecond + 300, 1).rows.empty());
}

TEST(Series, BeginsAgainWhenTheClockIsSetBack) {
  SeriesBook book;
  book.add(kSeriesOfApp, kFirstSecond + 100, busy_point(1));
  book.add(kSeriesOfApp, kFirstSecond + 100, busy_point(2));
  EXPECT_EQ(
      (*book.read(kSeriesOfApp, kFirstSecond + 100, kFirstSecond + 101, 1).rows.at(0))[Figure::rps],
      1);
  book.add(kSeriesOfApp, kFirstSecond, busy_point(3));
  const SeriesSlice slice = book.read(kSeriesOfApp, kFirstSecond, kFirstSecond + 101, 1);
  EXPECT_TRUE(slice.rows.at(0));
  EXPECT_FALSE(slice.rows.at(100));
}

TEST(Series, ASparkLineHasAPointForEachFiveSeconds) {
  SeriesBook book;
  for (int i = 0; i < 10; ++i)
    book.add(kSeriesOfApp, kFirstSecond + i, busy_point(i < 5 ? 10.0F : 20.0F));
  const auto spark = book.spark(kSeriesOfApp, kFirstSecond + 11, Figure::rps);
  EXPECT_EQ(spark[59], 20);
  EXPECT_EQ(spark[58], 10);
  EXPECT_TRUE(std::isnan(spark[57]));
}

}  // namespace
}  // namespace sluice::autoscaler
