#include "activator/core/queue_pace.h"

#include <gtest/gtest.h>

namespace sluice::activator {
namespace {

using namespace std::chrono_literals;

constexpr TimePoint kStart{1'700'000'000s};

// Spans of one second with that many admissions each, looked at at their ends.
QueuePace paced(std::initializer_list<int> spans, TimePoint& now) {
  QueuePace pace;
  now = kStart;
  EXPECT_EQ(pace.least_wait(0, now), std::nullopt);
  for (const int admissions : spans) {
    for (int i = 0; i < admissions; ++i) {
      pace.admitted();
    }
    now += 1s;
    (void)pace.least_wait(0, now);
  }
  return pace;
}

TEST(QueuePace, HasNoEstimateBeforeTwoSpans) {
  TimePoint now;

  EXPECT_EQ(paced({10}, now).least_wait(100, now), std::nullopt);
  EXPECT_TRUE(paced({10, 10}, now).least_wait(100, now).has_value());
}

// 99 ahead and oneself, at twice ten a second.
TEST(QueuePace, PlaceIsReachedAtTwiceTheBestRateAtBest) {
  TimePoint now;

  EXPECT_EQ(paced({4, 10, 7}, now).least_wait(99, now), 5s);
}

TEST(QueuePace, SpanUnderWayCountsWhenItIsTheBest) {
  TimePoint now;
  QueuePace pace = paced({4, 4}, now);
  for (int i = 0; i < 10; ++i) {
    pace.admitted();
  }

  EXPECT_EQ(pace.least_wait(99, now), 5s);
}

TEST(QueuePace, HasNoEstimateWithoutAnAdmission) {
  TimePoint now;

  EXPECT_EQ(paced({0, 0, 0}, now).least_wait(1, now), std::nullopt);
}

TEST(QueuePace, OldSpansAreDropped) {
  TimePoint now;

  EXPECT_EQ(paced({50, 10, 10, 10, 10, 10, 10, 10, 10}, now).least_wait(99, now), 5s);
}

TEST(QueuePace, TimeThatStepsBackCountsAsNoTime) {
  TimePoint now;
  QueuePace pace = paced({10, 10}, now);

  EXPECT_EQ(pace.least_wait(99, kStart - 10s), 5s);
}

TEST(QueuePace, HasNoEstimateAfterForget) {
  TimePoint now;
  QueuePace pace = paced({10, 10}, now);

  pace.forget();

  EXPECT_EQ(pace.least_wait(99, now), std::nullopt);
}

}  // namespace
}  // namespace sluice::activator
