#include "autoscaler/placement/core/step_watch.h"

#include <gtest/gtest.h>

#include <string>

namespace sluice::placement {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using Verdict = StepWatch::Verdict;

constexpr Duration kSoon = milliseconds{100};
constexpr Duration kLate = kShiftPatience * kShiftHold;

// A step that began with no request counted, looked at after `at`.
Verdict looked(const Tally& from, const Tally& to, Duration at, bool open = true,
               bool quiet = false) {
  StepWatch watch;
  watch.begin_shift({}, {});
  watch.begin_step({}, {}, Duration{0});
  return watch.look(from, to, open, quiet, at);
}

TEST(StepWatch, IsOpenBeforeTwentyRequestsOrTheHold) {
  EXPECT_EQ(looked({.requests = 19}, {.requests = 19}, kSoon), Verdict::open);
  EXPECT_EQ(looked({.requests = 19}, {.requests = 20}, kSoon), Verdict::passed);
  EXPECT_EQ(looked({.requests = 1}, {.requests = 1}, kShiftHold), Verdict::passed);
}

TEST(StepWatch, AllowsATenthMoreFailuresThanAtTheOldPlace) {
  EXPECT_EQ(looked({.requests = 20}, {.requests = 20, .failed = 2}, kSoon), Verdict::passed);
  EXPECT_EQ(looked({.requests = 20}, {.requests = 20, .failed = 3}, kSoon), Verdict::failed);
  EXPECT_EQ(looked({.requests = 20, .failed = 10}, {.requests = 20, .failed = 12}, kSoon),
            Verdict::passed);
  EXPECT_EQ(looked({.requests = 20, .failed = 10}, {.requests = 20, .failed = 13}, kSoon),
            Verdict::failed);
}

TEST(StepWatch, FailsAsSoonAsNoSuccessCanMakeUpForIt) {
  EXPECT_EQ(looked({.requests = 3}, {.requests = 3, .failed = 3}, kSoon), Verdict::failed);
  EXPECT_EQ(looked({.requests = 3}, {.requests = 2, .failed = 2}, kSoon), Verdict::open);
}

TEST(StepWatch, PassesAtOnceWithoutTraffic) {
  EXPECT_EQ(looked({}, {}, Duration{0}, true, true), Verdict::passed);
  EXPECT_EQ(looked({}, {}, Duration{0}, false, true), Verdict::open);
}

TEST(StepWatch, IsNeverPassedWhileAReplicaOfItIsNotReady) {
  EXPECT_EQ(looked({.requests = 50}, {.requests = 50}, kShiftHold, false), Verdict::open);
  EXPECT_EQ(looked({.requests = 50}, {.requests = 50}, kLate, false), Verdict::overdue);
}

TEST(StepWatch, ManyRequestsOfWhichNoneComesToTheNewPlaceAreASign) {
  EXPECT_EQ(looked({.requests = 1}, {}, kShiftHold), Verdict::open);
  EXPECT_EQ(looked({.requests = 1}, {}, kLate), Verdict::passed);
  EXPECT_EQ(looked({.requests = 20}, {}, kLate), Verdict::overdue);
}

// All requests come to the new place: they are compared with what the old one did before.
TEST(StepWatch, ComparesWithTheWholeShiftWhereTheOldPlaceHasNoRequests) {
  StepWatch watch;
  watch.begin_shift({}, {});
  watch.begin_step({.requests = 40, .failed = 20}, {.requests = 40}, Duration{0});

  EXPECT_EQ(watch.look({.requests = 40, .failed = 20}, {.requests = 60, .failed = 11}, true, false,
                       kSoon),
            Verdict::passed);
  EXPECT_EQ(watch.words("fast", "slow"), "11 of 20 requests failed at slow, 20 of 40 at fast");
}

TEST(StepWatch, CountsThatFallAreNoFailures) {
  StepWatch watch;
  watch.begin_shift({.requests = 500}, {.requests = 500, .failed = 3});
  watch.begin_step({.requests = 500}, {.requests = 500, .failed = 3}, Duration{0});

  EXPECT_EQ(watch.look({.requests = 5}, {.requests = 5}, true, false, kSoon), Verdict::open);
}

}  // namespace
}  // namespace sluice::placement
