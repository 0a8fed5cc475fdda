#include "platform/process/backoff.h"

#include <gtest/gtest.h>

#include <vector>

namespace sluice::local {
namespace {

using namespace std::chrono_literals;

const TimePoint kStart{1000s};

TEST(StartBackoff, DoublesFromHalfASecondToThirty) {
  StartBackoff backoff;
  std::vector<double> waits;
  TimePoint now = kStart;
  for (int i = 0; i < 9; ++i) {
    backoff.failed(now);
    waits.push_back(to_seconds(backoff.wait_left(now)));
    now = backoff.retry_at();
  }

  EXPECT_EQ(waits, (std::vector<double>{0.5, 1, 2, 4, 8, 16, 30, 30, 30}));
}

TEST(StartBackoff, ThirdFailureMakesItFailing) {
  StartBackoff backoff;
  backoff.failed(kStart);
  backoff.failed(kStart + 1s);
  EXPECT_FALSE(backoff.failing());
  backoff.failed(kStart + 3s);

  EXPECT_TRUE(backoff.failing());
  EXPECT_FALSE(backoff.may_start(kStart + 4s));
  EXPECT_TRUE(backoff.may_start(kStart + 5s));
}

TEST(StartBackoff, ExitsAfterReadyWaitButNeverCount) {
  StartBackoff backoff;
  for (int i = 0; i < 5; ++i) {
    backoff.became_ready(kStart);
    backoff.no_longer_ready();
    backoff.failed(kStart, false);
  }

  EXPECT_FALSE(backoff.failing());
  EXPECT_EQ(backoff.wait_left(kStart), Duration{8s});
}

TEST(StartBackoff, ClearsAfterSixtySecondsReady) {
  StartBackoff backoff;
  for (int i = 0; i < 3; ++i) backoff.failed(kStart);
  backoff.became_ready(kStart + 10s);
  EXPECT_FALSE(backoff.failing());

  backoff.tick(kStart + 69s);
  EXPECT_EQ(backoff.failures(), 3U);
  backoff.tick(kStart + 70s);
  EXPECT_EQ(backoff.failures(), 0U);

  backoff.failed(kStart + 80s, false);
  EXPECT_EQ(backoff.wait_left(kStart + 80s), Duration{500ms});
}

TEST(StartBackoff, ShortReadinessDoesNotClearIt) {
  StartBackoff backoff;
  for (int i = 0; i < 3; ++i) backoff.failed(kStart);
  backoff.became_ready(kStart + 10s);
  backoff.no_longer_ready();
  backoff.tick(kStart + 200s);

  EXPECT_TRUE(backoff.failing());
}

TEST(StartBackoff, AChangedSpecClearsIt) {
  StartBackoff backoff;
  for (int i = 0; i < 4; ++i) backoff.failed(kStart);
  backoff.clear();

  EXPECT_TRUE(backoff.may_start(kStart));
  EXPECT_FALSE(backoff.failing());
}

}  // namespace
}  // namespace sluice::local
