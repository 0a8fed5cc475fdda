#include "autoscaler/core/decision/attention.h"

#include "tests/unit/autoscaler/core/fixtures.h"

#include <gtest/gtest.h>

namespace sluice::autoscaler {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Duration kWindow = seconds{60};

// Evaluations with data every `step` seconds, up to and including `to`.
void attend(Attention& attention, std::int64_t from, std::int64_t to, std::int64_t step = 2) {
  for (std::int64_t second = from; second <= to; second += step) {
    EXPECT_EQ(attention.evaluate(at(second), true, kWindow), Duration{0}) << second;
    attention.conclude(true, kWindow);
  }
}

TEST(Attention, OrdinaryRhythmIsObserved) {
  Attention attention{at(0), true};

  attend(attention, 2, 100);
  attend(attention, 101, 140, 9);

  EXPECT_TRUE(attention.settled());
  EXPECT_FALSE(attention.resumed_within(hours{1}, at(140)));
}

TEST(Attention, JumpIsUnobservedBeyondTheUsualTimeBetweenEvaluations) {
  Attention attention{at(0), true};
  attend(attention, 2, 20);

  EXPECT_EQ(attention.evaluate(at(20 + 3600), true, kWindow), seconds{3590});
  EXPECT_EQ(attention.evaluate(at(30), true, kWindow), seconds{30 - 3620});
  EXPECT_TRUE(attention.resumed_within(milliseconds{1}, at(30)));
}

TEST(Attention, ShortWindowsAllowShorterGapsOnly) {
  Attention attention{at(0), true};

  EXPECT_EQ(attention.evaluate(at(3), true, seconds{6}), Duration{0});
  EXPECT_EQ(attention.evaluate(at(10), true, seconds{6}), seconds{1});  // twice the usual 3 s
  EXPECT_FALSE(attention.settled());
}

TEST(Attention, SettlesAfterAStableWindowOfEvaluationsWithData) {
  Attention attention{at(0), false};
  EXPECT_FALSE(attention.settled());

  attend(attention, 2, 60);
  EXPECT_FALSE(attention.settled());
  for (std::int64_t second = 62; second <= 80; second += 2) {
    (void)attention.evaluate(at(second), true, kWindow);
    attention.conclude(false, kWindow);
  }
  attend(attention, 82, 82);
  EXPECT_FALSE(attention.settled()) << "time without data proves nothing";
  EXPECT_EQ(attention.missing(kWindow), seconds{2});

  attend(attention, 84, 84);
  EXPECT_TRUE(attention.settled());
}

TEST(Attention, GapHasToBeSettledAgain) {
  Attention attention{at(0), true};
  attend(attention, 2, 20);

  (void)attention.evaluate(at(50), true, kWindow);
  attention.conclude(true, kWindow);
  EXPECT_FALSE(attention.settled());
  attend(attention, 52, 108);
  EXPECT_FALSE(attention.settled());
  attend(attention, 110, 110);
  EXPECT_TRUE(attention.settled());
}

TEST(Attention, SlowEvaluationsSoonCountAsOrdinary) {
  for (const std::int64_t step : {11, 15, 30, 60, 300}) {
    Attention attention{at(0), true};
    Duration unobserved{0};
    for (int i = 1; i <= 20; ++i) {
      unobserved += attention.evaluate(at(i * step), true, kWindow);
      attention.conclude(true, kWindow);
    }
    EXPECT_LT(unobserved, seconds{step * 5}) << step;
    EXPECT_TRUE(attention.settled()) << step;
    EXPECT_FALSE(attention.resumed_within(seconds{10}, at(20 * step))) << step;
  }
}

TEST(Attention, ActivatorThatWasAwayForLongHasTimeToReport) {
  Attention attention{at(0), true};
  for (std::int64_t second = 2; second <= 30; second += 2) {
    (void)attention.evaluate(at(second), second < 10 || second >= 20, kWindow);
    EXPECT_EQ(attention.activator_connected(), second < 10 || second >= 20);
  }
  EXPECT_TRUE(attention.resumed_within(seconds{11}, at(30)));
  EXPECT_FALSE(attention.resumed_within(seconds{10}, at(30)));
}

TEST(Attention, FlappingActivatorIsNotWaitedForEachTime) {
  Attention attention{at(0), true};
  for (std::int64_t second = 2; second <= 200; second += 2) {
    (void)attention.evaluate(at(second), second % 8 != 0, kWindow);
    EXPECT_FALSE(attention.resumed_within(seconds{10}, at(second))) << second;
  }
}

}  // namespace
}  // namespace sluice::autoscaler
