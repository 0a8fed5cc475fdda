#include "activator/io/wake_watch.h"

#include <gtest/gtest.h>

namespace sluice::activator {
namespace {

using std::chrono::milliseconds;

TimePoint at(int ms) {
  return TimePoint{milliseconds{1'000'000 + ms}};
}

class WakeWatchTest : public ::testing::Test {
 protected:
  // A start whose first request came at 0 and whose pod took requests at 60.
  void start() {
    watch.held(revision, at(0));
    watch.decided(revision, at(5));
    watch.seen(revision, at(20));
    watch.usable(revision, at(60));
  }

  RevisionHandle revision{};
  WakeWatch watch;
};

TEST_F(WakeWatchTest, EachPhaseOfAStartIsMeasuredSeparately) {
  start();

  const auto phases = watch.first_byte(revision, at(0), at(62), at(70));

  ASSERT_TRUE(phases);
  EXPECT_EQ(phases->took.decide, milliseconds{5});
  EXPECT_EQ(phases->took.create, milliseconds{15});
  EXPECT_EQ(phases->took.ready, milliseconds{40});
  EXPECT_EQ(phases->took.queue, milliseconds{2});
  EXPECT_EQ(phases->took.first_byte, milliseconds{8});
  EXPECT_EQ(phases->took.total(), milliseconds{70});
  EXPECT_EQ(cold_start_lines(phases->took),
            "Sluice-Cold-Start: 70\r\nServer-Timing: queue;dur=2.00, decide;dur=5.00, "
            "create;dur=15.00, start;dur=0.00, ready;dur=40.00, first_byte;dur=8.00\r\n");
}

TEST_F(WakeWatchTest, APhaseThatEndedBeforeARequestArrivedCostsItNothing) {
  start();
  const auto late = watch.first_byte(revision, at(30), at(62), at(70));
  ASSERT_TRUE(late);
  EXPECT_EQ(late->took.decide + late->took.create, Duration{0});
  EXPECT_EQ(late->took.ready, milliseconds{30});
}

TEST_F(WakeWatchTest, EachStartHasOneFirstAnswer) {
  start();
  EXPECT_TRUE(watch.first_byte(revision, at(0), at(62), at(70))->first);
  EXPECT_FALSE(watch.first_byte(revision, at(1), at(62), at(71))->first);
  watch.held(revision, at(1000));
  watch.usable(revision, at(1010));
  EXPECT_TRUE(watch.first_byte(revision, at(1000), at(1010), at(1020))->first);
}

TEST_F(WakeWatchTest, AStartThatWasNotObservedHasNoPhases) {
  EXPECT_FALSE(watch.first_byte(revision, at(0), at(1), at(2)));
}

}  // namespace
}  // namespace sluice::activator
