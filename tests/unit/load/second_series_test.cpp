#include "load/core/second_series.h"

#include <gtest/gtest.h>

#include "load/core/tally.h"

namespace sluice::loadgen {
namespace {

using namespace std::chrono_literals;

void answer(SecondSeries& series, std::size_t target, Duration planned, Duration taken,
            Duration done) {
  series.sent(target, planned, taken);
  series.finished(target, {planned, taken, done, Ending::answered, 200, false, 0}, false);
}

TEST(SecondSeries, PutsRequestsIntoTheSecondTheyWerePlannedFor) {
  SecondSeries series{2, 0s};

  series.sent(1, 1999ms, 2500ms);
  series.finished(1, {1999ms, 2500ms, 4s, Ending::reset, 0, false, 0}, true);
  answer(series, 0, 0s, 0s, 30ms);
  series.unsent(0, 500ms);

  ASSERT_EQ(series.rows(), 5U);
  EXPECT_EQ(series.at(0, 0).answered, 1U);
  EXPECT_EQ(series.at(0, 0).not_sent, 1U);
  EXPECT_EQ(series.at(0, 0).errors, 1U);
  EXPECT_EQ(series.at(0, 0).max, 30ms);
  EXPECT_EQ(series.at(0, 0).latency.count(), 1U);
  EXPECT_EQ(series.at(1, 1).sent, 1U);
  EXPECT_EQ(series.at(1, 1).errors, 1U);
  EXPECT_EQ(series.at(1, 1).answered, 0U);
  EXPECT_EQ(series.at(1, 0).sent, 0U) << "of the other target";
}

TEST(SecondSeries, CountsRequestsInFlightAtTheEndOfEachSecond) {
  SecondSeries series{1, 0s};
  answer(series, 0, 0s, 0s, 2500ms);
  answer(series, 0, 100ms, 1100ms, 1200ms);
  answer(series, 0, 1500ms, 1500ms, 2200ms);

  EXPECT_EQ(series.in_flight(0), (std::vector<std::uint64_t>{1, 2, 0}));
}

TEST(SecondSeries, LeavesTheWarmUpOut) {
  SecondSeries series{1, 5s};
  answer(series, 0, 4999ms, 5s, 6s);
  answer(series, 0, 5s, 5s, 6s);

  ASSERT_EQ(series.rows(), 2U);
  EXPECT_EQ(series.at(0, 0).sent, 1U);
  EXPECT_EQ(series.begin_of(1), 6s);
}

// Goal: a day takes no more memory than an hour, and nothing is lost.
TEST(SecondSeries, JoinsNeighboursWhenTheyAreTooMany) {
  constexpr std::int64_t kSeconds = 86'400;
  SecondSeries series{2, 0s};
  for (std::int64_t i = 0; i < kSeconds; ++i) {
    answer(series, 0, std::chrono::seconds{i}, std::chrono::seconds{i},
           std::chrono::seconds{i} + 1ms);
  }

  EXPECT_EQ(series.step(), 16s);
  EXPECT_EQ(series.rows(), 5400U);
  std::uint64_t sent = 0;
  for (std::size_t row = 0; row < series.rows(); ++row) {
    sent += series.at(row, 0).sent;
    ASSERT_EQ(series.at(row, 0).latency.count(), 16U) << row;
  }
  EXPECT_EQ(sent, static_cast<std::uint64_t>(kSeconds));
}

TEST(SecondSeries, JoinsNeighboursWhenTheirLatenciesTakeTooMuch) {
  SecondSeries series{1, 0s};
  for (std::int64_t second = 0; second < 2700; ++second) {
    for (std::int64_t i = 0; i < 1000; ++i) {
      const Duration at = std::chrono::seconds{second};
      answer(series, 0, at, at, at + i * i * 1us);
    }
  }

  EXPECT_GT(series.step(), 1s);
  std::size_t buckets = 0;
  std::uint64_t requests = 0;
  for (std::size_t row = 0; row < series.rows(); ++row) {
    buckets += series.at(row, 0).latency.buckets().size();
    requests += series.at(row, 0).latency.count();
  }
  EXPECT_LE(buckets, SecondSeries::kBucketsMax);
  EXPECT_EQ(requests, 2'700'000U);
}

TEST(SecondSeries, AddsAnotherOne) {
  SecondSeries whole{1, 0s};
  SecondSeries part{1, 0s};
  answer(whole, 0, 0s, 0s, 20ms);
  answer(part, 0, 500ms, 500ms, 600ms);
  answer(part, 0, 40'000s, 40'000s, 40'001s);

  whole.add(part);

  EXPECT_EQ(whole.step(), part.step());
  EXPECT_EQ(whole.at(0, 0).sent, 2U);
  EXPECT_EQ(whole.at(0, 0).max, 100ms);
  EXPECT_EQ(whole.rows(), part.rows());
}

}  // namespace
}  // namespace sluice::loadgen
