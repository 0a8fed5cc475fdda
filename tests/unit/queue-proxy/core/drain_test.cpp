// Rows 16, 17 and 64 of queue-proxy.md 13, and 15.5.

#include "queue-proxy/core/drain.h"

#include <gtest/gtest.h>

namespace sluice::queue_proxy {
namespace {

using namespace std::chrono_literals;

constexpr TimePoint kStart{1'700'000'000s};

TEST(Drain, LastsTheQuietTimeEvenWithoutTraffic) {
  Drain drain{30s};

  EXPECT_FALSE(drain.draining());
  drain.start(kStart);

  EXPECT_TRUE(drain.draining());
  EXPECT_FALSE(drain.done(kStart + 29s, 0));
  EXPECT_TRUE(drain.done(kStart + 30s, 0));
}

TEST(Drain, RestartsItsQuietTimeWithEachArrival) {
  Drain drain{30s};
  drain.start(kStart);

  drain.arrived(kStart + 20s);

  EXPECT_FALSE(drain.done(kStart + 49s, 0));
  EXPECT_TRUE(drain.done(kStart + 50s, 0));
}

TEST(Drain, IsNotExtendedByRequestsAfterTheQuietTime) {
  Drain drain{30s};
  drain.start(kStart);

  drain.arrived(kStart + 31s);

  EXPECT_TRUE(drain.done(kStart + 31s, 0));
}

TEST(Drain, WaitsForWhatIsInFlight) {
  Drain drain{30s};
  drain.start(kStart);

  EXPECT_FALSE(drain.done(kStart + 100s, 1));
  EXPECT_TRUE(drain.done(kStart + 101s, 0));
}

TEST(Drain, IsNotProlongedByASecondStart) {
  Drain drain{30s};
  drain.start(kStart);

  drain.start(kStart + 20s);

  EXPECT_TRUE(drain.done(kStart + 30s, 0));
}

TEST(TentativeDrain, IsUndoneAfterASecond) {
  Drain drain{30s};
  drain.start_tentatively(kStart);

  EXPECT_TRUE(drain.draining());
  EXPECT_FALSE(drain.expire_tentative(kStart + 999ms));
  EXPECT_TRUE(drain.expire_tentative(kStart + 1s));
  EXPECT_FALSE(drain.draining());
  EXPECT_FALSE(drain.expire_tentative(kStart + 2s));
}

TEST(TentativeDrain, NeverEndsTheProcess) {
  Drain drain{0s};
  drain.start_tentatively(kStart);

  EXPECT_FALSE(drain.done(kStart + 10s, 0));
}

TEST(TentativeDrain, BecomesFinalWhenTheSignalComesMeanwhile) {
  Drain drain{30s};
  drain.start_tentatively(kStart);

  drain.start(kStart + 500ms);

  EXPECT_FALSE(drain.expire_tentative(kStart + 2s));
  EXPECT_FALSE(drain.done(kStart + 30s, 0));
  EXPECT_TRUE(drain.done(kStart + 30s + 500ms, 0));
}

TEST(TentativeDrain, ChangesNothingAboutAFinalOne) {
  Drain drain{30s};
  drain.start(kStart);

  drain.start_tentatively(kStart + 1s);

  EXPECT_FALSE(drain.tentative_until());
  EXPECT_TRUE(drain.done(kStart + 30s, 0));
}

TEST(Drain, AnswersAWaitAfterASecondUnlessADrainRuns) {
  Drain drain{30s};
  EXPECT_EQ(drain.wait_due(kStart), kStart + 1s);

  drain.start_tentatively(kStart);
  EXPECT_FALSE(drain.wait_due(kStart));
  EXPECT_TRUE(drain.expire_tentative(kStart + 1s));
  EXPECT_EQ(drain.wait_due(kStart), kStart + 1s);

  drain.start(kStart + 2s);
  EXPECT_FALSE(drain.wait_due(kStart + 2s));
}

}  // namespace
}  // namespace sluice::queue_proxy
