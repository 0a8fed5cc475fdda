#include "activator/core/throttler.h"
#include "tests/unit/activator/core/throttler_gate.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace sluice::activator {
namespace {

using namespace std::chrono_literals;

// activator.md 12, row 40.
TEST(ThrottlerQueue, RequestPastItsDeadlineIsRefusedWhereItWouldWait) {
  Gate gate(spec_of(0));

  EXPECT_EQ(gate.enter(1, {}, kStart), "queue wait");
  EXPECT_EQ(gate.enter(2, {}, kStart + 1ns), "queued");
}

// Row 41.
TEST(ThrottlerQueue, RequestPastItsDeadlineStillRunsWhereThereIsRoom) {
  Gate gate(spec_of(0));
  gate.pods({"a"});

  EXPECT_EQ(gate.enter(1, {}, kStart - 1s), "a");
}

TEST(ThrottlerQueue, DeadlinesPassInTheirOwnOrder) {
  Gate gate({.container_concurrency = 1, .queue_wait = 10s});
  gate.enter(1, {}, kStart + 3s);
  gate.enter(2);
  gate.enter(3, {}, kStart + 1s);
  gate.enter(4, {}, kStart + 3s);
  gate.enter(5, {}, kStart + 2s);
  gate.throttler.cancel(gate.entered.ticket);

  EXPECT_EQ(gate.throttler.next_expiry(), kStart + 1s);
  gate.now = kStart + 3s;
  EXPECT_EQ(gate.expire(), "3 1 4");
  EXPECT_EQ(gate.throttler.next_expiry(), kStart + 10s);
  EXPECT_EQ(gate.pods({"a"}), "2→a");
  EXPECT_EQ(gate.throttler.next_expiry(), std::nullopt);
}

TEST(ThrottlerQueue, AgeOfARetryCountsFromItsFirstArrival) {
  Gate gate({.container_concurrency = 1, .queue_wait = 10s});

  gate.entered = gate.throttler.enter({.cookie = 1, .since = kStart - 4s}, kStart);

  EXPECT_EQ(gate.throttler.oldest_waiting(), kStart - 4s);
  EXPECT_EQ(gate.throttler.next_expiry(), kStart + 6s);
}

TEST(ThrottlerQueue, RetriesAreServedInTheOrderOfTheirReturn) {
  Gate gate(spec_of(1));
  gate.pods({"a"});
  const PodRef a = gate.run(1);
  gate.leave(a);
  gate.enter(2);
  gate.enter(3, {a});
  gate.enter(4);
  gate.enter(5, {a});

  EXPECT_EQ(gate.update({.id = {"b"}}), "3→b");
  EXPECT_EQ(gate.leave(gate.last), "5→b");
  EXPECT_EQ(gate.leave(gate.last), "4→b");
}

// A queue of 100 before a pod that serves ten a second, seen for three seconds.
class Slow : public testing::Test {
 protected:
  explicit Slow(bool foresees = true) : gate_({.container_concurrency = 1, .foresees = foresees}) {
    gate_.pods({"a"});
    PodRef running = gate_.run(0);
    for (std::uint64_t i = 0; i < 130; ++i) {
      gate_.enter(i);
    }
    for (int i = 0; i < 30; ++i) {
      gate_.now += 100ms;
      gate_.leave(running);
      running = gate_.last;
      gate_.enter(1000);
      gate_.throttler.cancel(gate_.entered.ticket);
    }
  }

  std::string enter_within(Duration limit) { return gate_.enter(1, {}, gate_.now + limit); }

  Gate gate_;
};

// A hundred wait; twice ten a second serve the next one after five seconds at best.
TEST_F(Slow, RequestThatCannotBeServedInTimeIsRefusedAtOnce) {
  EXPECT_EQ(gate_.throttler.waiting(), 100);
  EXPECT_EQ(enter_within(4s), "queue wait");
  EXPECT_GT(gate_.entered.retry_after, 4s);
  EXPECT_LT(gate_.entered.retry_after, 6s);
  EXPECT_EQ(enter_within(6s), "queued");
  EXPECT_EQ(gate_.enter(2), "queued");
}

class SlowWithoutGrant : public Slow {
 protected:
  SlowWithoutGrant() : Slow(false) {}
};

TEST_F(SlowWithoutGrant, PastRateRefusesNoRequestWhereGrowthIsUnknown) {
  EXPECT_EQ(enter_within(4s), "queued");
  EXPECT_EQ(enter_within(Duration::zero()), "queue wait");
}

TEST_F(Slow, RetryIsJudgedByThePlaceItGets) {
  EXPECT_EQ(gate_.enter(1, {gate_.last}, gate_.now + 1s), "queued");
}

TEST_F(Slow, GrantedPodsMayServeInTime) {
  std::vector<Dismissal> dismissed;
  gate_.throttler.set_grant({.desired = 2, .granted = 2}, dismissed);

  EXPECT_EQ(enter_within(1s), "queued");
}

TEST_F(Slow, PodsOfOtherActivatorsServeNoRequestHere) {
  std::vector<Dismissal> dismissed;
  gate_.throttler.set_grant({.desired = 2, .granted = 2, .activators = 2}, dismissed);

  EXPECT_EQ(enter_within(1s), "queue wait");
}

TEST_F(Slow, AddedPodsMayServeInTime) {
  gate_.update({.id = {"b"}});

  EXPECT_EQ(enter_within(1s), "queued");
}

TEST_F(Slow, AnEmptiedQueueHasNoPastRate) {
  std::vector<Dismissal> dismissed;
  gate_.throttler.fail_all(dismissed);

  EXPECT_EQ(enter_within(1ms), "queued");
}

TEST(ThrottlerQueue, WaitersExpireOldestFirst) {
  Gate gate({.container_concurrency = 1, .queue_wait = 5s});
  EXPECT_EQ(gate.throttler.next_expiry(), std::nullopt);
  gate.enter(1);
  gate.now += 1s;
  gate.enter(2);

  EXPECT_EQ(gate.throttler.oldest_waiting(), kStart);
  EXPECT_EQ(gate.throttler.next_expiry(), kStart + 5s);
  EXPECT_FALSE(gate.throttler.expire(kStart + 5s - 1ns).has_value());
  EXPECT_EQ(gate.throttler.expire(kStart + 5s)->cookie, 1U);
  EXPECT_FALSE(gate.throttler.expire(kStart + 5s).has_value());
  EXPECT_EQ(gate.throttler.waiting(), 1);
}

TEST(ThrottlerQueue, WithoutALimitOfAgeNoRequestExpires) {
  Gate gate(spec_of(1));
  gate.enter(1);

  EXPECT_FALSE(gate.throttler.expire(kStart + 1000h).has_value());
}

// activator.md 14.3.
TEST(ThrottlerQueue, FewerGrantedThanDesiredReplicasLowerTheQueueLimit) {
  Gate gate(spec_of(20));
  std::vector<Dismissal> dismissed;

  gate.throttler.set_grant({.desired = 4, .granted = 2}, dismissed);
  EXPECT_EQ(gate.throttler.waiting_max(), 400);
  gate.throttler.set_grant({.desired = 4, .granted = 0}, dismissed);
  EXPECT_EQ(gate.throttler.waiting_max(), 100);
  gate.throttler.set_grant({.desired = 2'000'000'000, .granted = 1'999'999'999}, dismissed);
  EXPECT_EQ(gate.throttler.waiting_max(), 10'000);
  gate.throttler.set_grant({.desired = 4, .granted = 4}, dismissed);
  EXPECT_EQ(gate.throttler.waiting_max(), 10'000);
  EXPECT_TRUE(dismissed.empty());
}

TEST(ThrottlerQueue, WaitingRequestsStayWhenTheQueueLimitFalls) {
  Gate gate(spec_of(1));
  for (std::uint64_t i = 0; i < 150; ++i) {
    gate.enter(i);
  }
  std::vector<Dismissal> dismissed;

  gate.throttler.set_grant({.desired = 2, .granted = 1}, dismissed);

  EXPECT_EQ(gate.throttler.waiting(), 150);
  EXPECT_EQ(gate.enter(150), "queue full");
}

TEST(ThrottlerQueue, ImpossibleGrowthDismissesWaitingRequestsAndRefusesNewOnes) {
  Gate gate(spec_of(1));
  gate.enter(7);
  gate.enter(8);
  std::vector<Dismissal> dismissed;

  gate.throttler.set_grant({.desired = 1, .granted = 0, .cannot_scale = true}, dismissed);

  ASSERT_EQ(dismissed.size(), 2U);
  EXPECT_EQ(dismissed[0].cookie, 7U);
  EXPECT_EQ(gate.enter(9), "cannot scale");
  gate.throttler.set_grant({.desired = 1, .granted = 1}, dismissed);
  EXPECT_EQ(gate.enter(10), "queued");
}

TEST(ThrottlerQueue, FailedStartEmptiesTheQueue) {
  Gate gate(spec_of(1));
  gate.enter(1);
  gate.enter(2);
  std::vector<Dismissal> dismissed;

  gate.throttler.fail_all(dismissed);

  EXPECT_EQ(dismissed.size(), 2U);
  EXPECT_EQ(gate.throttler.waiting(), 0);
  EXPECT_EQ(gate.enter(3), "queued");
}

TEST(ThrottlerQueue, RefusalWithoutGrowthHasARetryAfter) {
  Gate gate(spec_of(1));
  std::vector<Dismissal> dismissed;
  gate.throttler.set_grant({.desired = 1, .granted = 0, .cannot_scale = true, .retry_after = 30s},
                           dismissed);

  EXPECT_EQ(gate.enter(1), "cannot scale");
  EXPECT_EQ(gate.entered.retry_after, 30s);
}

// Goal: a long queue costs nothing once it is over, and old tickets stay stale.
TEST(ThrottlerQueue, TicketsOfAnEarlierQueueMatchNoRequest) {
  Gate gate(spec_of(1));
  gate.enter(1);
  const Ticket old = gate.entered.ticket;
  EXPECT_EQ(gate.pods({"a"}), "1→a");
  gate.leave(gate.last);
  gate.pods(std::vector<std::string>{});
  gate.enter(2);

  EXPECT_NE(gate.entered.ticket, old);
  EXPECT_FALSE(gate.throttler.cancel(old));
  EXPECT_EQ(gate.throttler.waiting(), 1);
}

}  // namespace
}  // namespace sluice::activator
