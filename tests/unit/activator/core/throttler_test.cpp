#include "activator/core/throttler.h"

#include "activator/core/pod_subset.h"
#include "tests/unit/activator/core/throttler_gate.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace sluice::activator {
namespace {

using namespace std::chrono_literals;

// activator.md 12, rows 22 and 23.
TEST(Throttler, ActivatorsShareThePodsBehindAClusterIp) {
  EXPECT_EQ(shared_capacity(10, 10, 5), 20);
  EXPECT_EQ(shared_capacity(10, 10, 200), 1);
  EXPECT_EQ(shared_capacity(10, 0, 5), 0);
  EXPECT_EQ(shared_capacity(10, 3, 0), 30);
  EXPECT_EQ(shared_capacity(0, 3, 1), 0);
}

// Row 39: a cluster IP is one pod with a capacity of its own.
TEST(Throttler, ClusterIpCarriesItsSharedCapacity) {
  Gate gate(spec_of(1));
  gate.set({{.id = {"10.0.0.1:80"}, .capacity = shared_capacity(1, 4, 2)}});

  EXPECT_EQ(gate.enter(1), "10.0.0.1:80");
  EXPECT_EQ(gate.enter(2), "10.0.0.1:80");
  EXPECT_EQ(gate.enter(3), "queued");
}

// Rows 24 and 42.
TEST(Throttler, WithoutALimitEveryRequestRunsOnceThereIsAPod) {
  Gate gate(spec_of(0));

  EXPECT_EQ(gate.enter(1), "queued");
  EXPECT_EQ(gate.enter(2), "queued");
  EXPECT_EQ(gate.pods({"a"}), "1→a 2→a");
  EXPECT_EQ(gate.enter(3), "a");
  EXPECT_EQ(gate.throttler.capacity(), std::nullopt);
}

// Row 29.
TEST(Throttler, WithoutPodsEveryRequestWaits) {
  Gate gate(spec_of(42));
  gate.pods({"a", "b"});
  EXPECT_EQ(gate.throttler.capacity(), 84);

  gate.pods(std::vector<std::string>{});

  EXPECT_EQ(gate.throttler.capacity(), 0);
  EXPECT_EQ(gate.enter(1), "queued");
}

// Row 36.
TEST(Throttler, SmallLimitsFillPodsInOrderOfTheirNames) {
  Gate gate(spec_of(3));
  gate.pods({"e", "b", "d", "a", "c"});

  EXPECT_EQ(gate.enter_each({1, 2, 3}), "aaa");
  EXPECT_EQ(gate.enter(4), "b");
}

// Row 37, by name and by our default.
TEST(Throttler, LargerLimitsSpread) {
  for (const std::string_view policy : {"round-robin", ""}) {
    Gate gate(spec_of(5, policy));
    gate.pods({"a", "b", "c"});

    EXPECT_EQ(gate.enter_each({1, 2, 3}), "abc");
  }
}

// Rows 22 and 39: what a cluster IP carries for one of five activators.
TEST(Throttler, ClusterIpOfTenBackendsCarriesTwentyForEachOfFiveActivators) {
  Gate gate(spec_of(10));
  gate.set({{.id = {"10.0.0.1:80"}, .capacity = shared_capacity(10, 10, 5)}});

  EXPECT_EQ(gate.throttler.capacity(), 20);
}

// Rows 26 and 27.
TEST(Throttler, CapacityIsThatOfTheOwnSubset) {
  const auto capacity = [](std::int32_t limit, std::vector<std::string> pods, std::int32_t index) {
    Gate gate(spec_of(limit));
    gate.pods(assigned_of(std::move(pods), {.activators = 2, .index = index}, limit));
    return gate.throttler.capacity();
  };

  EXPECT_EQ(capacity(10, {"a", "b", "c"}, 0), 20);
  EXPECT_EQ(capacity(10, {"a", "b", "c"}, 1), 10);
  EXPECT_EQ(capacity(1, {"a", "b", "c", "d", "e"}, 0), 3);
  EXPECT_EQ(capacity(1, {"a", "b", "c", "d", "e"}, 1), 2);
}

// Row 28.
TEST(Throttler, SixPodsAmongFourActivatorsGiveTheFirstTwoWhole) {
  Gate gate(spec_of(42));
  gate.pods(
      assigned_of({"ip0", "ip1", "ip2", "ip3", "ip4", "ip5"}, {.activators = 4, .index = 0}, 42));

  EXPECT_EQ(gate.throttler.capacity(), 84);
  EXPECT_EQ(gate.enter_each({1, 2}), "ip0ip4");
}

// Row 35.
TEST(Throttler, SecondRequestOnAnActivatorsOnlyPodWaitsUntilItsDeadline) {
  Gate gate(spec_of(1));
  gate.pods(assigned_of({"a", "b", "c"}, {.activators = 2, .index = 1}, 1));

  EXPECT_EQ(gate.enter(1), "b");
  EXPECT_EQ(gate.enter(2, {}, kStart + 1s), "queued");
  EXPECT_EQ(gate.expire(), "");
  gate.now = kStart + 1s;
  EXPECT_EQ(gate.expire(), "2");
}

// Row 38.
TEST(Throttler, LimitOfOnePutsOneOnEachPod) {
  for (const std::string_view policy :
       {"first-available", "round-robin", "random-choice-2", "least-in-flight"}) {
    Gate gate(spec_of(1, policy));
    gate.pods({"a", "b"});

    const std::string first = gate.enter(1);
    EXPECT_NE(gate.enter(2), first) << policy;
    EXPECT_EQ(gate.enter(3), "queued") << policy;
  }
}

// Rows 40 and 75.
TEST(Throttler, WaiterThatGivesUpFreesItsPlace) {
  Gate gate({.container_concurrency = 0, .queue_depth = 1});
  gate.enter(1);
  const Ticket ticket = gate.entered.ticket;
  EXPECT_EQ(gate.enter(2), "queue full");

  EXPECT_TRUE(gate.throttler.cancel(ticket));

  EXPECT_FALSE(gate.throttler.cancel(ticket));
  EXPECT_EQ(gate.enter(3), "queued");
  EXPECT_EQ(gate.pods({"a"}), "3→a");
}

// Row 43.
TEST(Throttler, RoundRobinRestartsWhenPodsAreRemoved) {
  Gate gate(spec_of(5, "round-robin"));
  gate.pods({"a", "b", "c"});
  gate.enter(1);
  gate.enter(2);

  gate.pods({"a", "b"});

  EXPECT_EQ(gate.enter_each({3, 4}), "ab");
}

// Row 44: the reference sends the loser to the tail; here no request loses.
TEST(Throttler, FullPodsAdmitWaitingRequestsInTheirOrder) {
  Gate gate(spec_of(1));
  gate.pods({"a", "b"});
  const PodRef a = gate.run(1);
  const PodRef b = gate.run(2);
  EXPECT_EQ(gate.enter(3), "queued");
  EXPECT_EQ(gate.enter(4), "queued");

  EXPECT_EQ(gate.leave(b), "3→b");
  EXPECT_EQ(gate.leave(a), "4→a");
}

// Row 45.
TEST(Throttler, RandomChoiceTakesThePodWithFewerRequests) {
  Gate gate(spec_of(0, "random-choice-2"));
  gate.pods({"a", "b"});
  const std::string first = gate.enter(1);

  EXPECT_NE(gate.enter(2), first);
}

TEST(Throttler, PodsThatStayKeepTheirRequests) {
  Gate gate(spec_of(2));
  gate.pods({"b"});
  const PodRef b = gate.run(1);

  gate.pods({"a", "b"});

  EXPECT_EQ(gate.throttler.in_flight(b), 1U);
  EXPECT_EQ(gate.enter_each({2, 3, 4}), "aab");
  EXPECT_EQ(gate.enter(5), "queued");
}

TEST(Throttler, RemovedPodFinishesItsRequests) {
  Gate gate(spec_of(1));
  gate.pods({"a"});
  const PodRef a = gate.run(1);
  gate.pods({"b"});

  EXPECT_EQ(gate.throttler.pod_id(a).name, "a");
  EXPECT_EQ(gate.throttler.in_flight(), 1);
  EXPECT_EQ(gate.enter(2), "b");
  EXPECT_EQ(gate.enter(3), "queued");
  EXPECT_EQ(gate.leave(a), "");
  EXPECT_EQ(gate.throttler.in_flight(), 1);
}

TEST(Throttler, PodThatReturnsStillCountsItsRunningRequests) {
  Gate gate(spec_of(1));
  gate.pods({"a"});
  const PodRef a = gate.run(1);
  gate.pods(std::vector<std::string>{});
  gate.enter(2);

  EXPECT_EQ(gate.pods({"a"}), "");
  EXPECT_EQ(gate.leave(a), "2→a");
}

TEST(ThrottlerDeathTest, LeavingTwiceIsABrokenInvariant) {
  Gate gate(spec_of(1));
  gate.pods({"a"});
  const PodRef a = gate.run(1);
  gate.leave(a);

  EXPECT_DEATH(gate.leave(a), "CHECK failed");
  gate.pods(std::vector<std::string>{});
  EXPECT_DEATH(gate.leave(a), "CHECK failed");
}

TEST(Throttler, AvoidedPodsTakeNothingWhileAnotherExists) {
  Gate gate(spec_of(1));
  gate.set({{.id = {"a"}, .avoid = true}, {.id = {"b"}}});

  EXPECT_EQ(gate.enter(1), "b");
  EXPECT_EQ(gate.enter(2), "queued");
  EXPECT_EQ(gate.set({{.id = {"a"}, .avoid = true}, {.id = {"b"}, .avoid = true}}), "2→a");
}

TEST(Throttler, ARetryUsesAnotherPod) {
  Gate gate(spec_of(0));
  gate.pods({"a", "b"});
  const std::string first = gate.enter(1);
  const PodRef tried = gate.entered.pod;
  gate.leave(tried);

  for (int i = 0; i < 10; ++i) {
    EXPECT_NE(gate.enter(1, {tried}), first);
  }
}

TEST(Throttler, RetryWaitsAheadOfOtherRequestsAndBlocksNone) {
  Gate gate(spec_of(1));
  gate.pods({"a"});
  const PodRef a = gate.run(1);
  EXPECT_EQ(gate.enter(2), "queued");
  EXPECT_EQ(gate.leave(a), "2→a");
  EXPECT_EQ(gate.enter(3), "queued");
  EXPECT_EQ(gate.enter(1, {a}), "queued");

  EXPECT_EQ(gate.leave(a), "3→a");
  EXPECT_EQ(gate.enter(4), "queued");
  EXPECT_EQ(gate.pods({"a", "b"}), "1→b");
}

TEST(Throttler, PodThatReturnsMayBeTriedAgain) {
  Gate gate(spec_of(0));
  gate.pods({"a"});
  const PodRef tried = gate.run(1);
  gate.run(2);
  gate.leave(tried);
  EXPECT_EQ(gate.enter(1, {tried}), "queued");

  EXPECT_EQ(gate.pods({"a"}), "");
  gate.pods(std::vector<std::string>{});
  EXPECT_EQ(gate.pods({"a"}), "1→a");
}

TEST(Throttler, PodThatIsTrustedAgainMayBeTriedAgain) {
  Gate gate(spec_of(1));
  gate.set({{.id = {"a"}}, {.id = {"b"}, .avoid = true}});
  const PodRef tried = gate.run(1);
  gate.leave(tried);
  EXPECT_EQ(gate.enter(1, {tried}), "queued");

  EXPECT_EQ(gate.renew("a"), "1→a");
  EXPECT_EQ(gate.renew("c"), "not listed");
  gate.leave(gate.last);
  EXPECT_EQ(gate.enter(2, {tried}), "a");
}

TEST(Throttler, PodThatIsTrustedAgainIsPausedWhenItIsFull) {
  Gate gate(spec_of(2));
  gate.pods({"a"});
  const PodRef one = gate.run(1);
  gate.run(2);

  gate.renew("a");
  gate.leave_full(one, kStart + 1s);
  EXPECT_EQ(gate.enter(3), "queued");
}

TEST(Throttler, RepeatedPodCountsOnce) {
  Gate gate(spec_of(1));

  gate.pods({"a", "a"});

  EXPECT_EQ(gate.throttler.pods(), 1U);
  EXPECT_EQ(gate.throttler.capacity(), 1);
}

TEST(Throttler, OnePodIsAddedAndRemoved) {
  Gate gate(spec_of(1));
  gate.pods({"a", "c"});
  EXPECT_EQ(gate.enter_each({1, 2}), "ac");
  EXPECT_EQ(gate.enter(3), "queued");

  EXPECT_EQ(gate.update({.id = {"b"}}), "3→b");
  EXPECT_EQ(gate.throttler.capacity(), 3);
  EXPECT_EQ(gate.remove("c"), "");
  EXPECT_EQ(gate.throttler.capacity(), 2);
  EXPECT_EQ(gate.remove("c"), "not listed");
  EXPECT_EQ(gate.throttler.in_flight(), 3);
}

TEST(Throttler, CapacityOfAPodFollowsItsUpdates) {
  Gate gate(spec_of(2));
  gate.update({.id = {"a"}});
  EXPECT_EQ(gate.enter_each({1, 2, 3}), "aaqueued");

  EXPECT_EQ(gate.update({.id = {"a"}, .capacity = 3}), "3→a");
  EXPECT_EQ(gate.throttler.capacity(), 3);
  EXPECT_EQ(gate.update({.id = {"a"}}), "");
  EXPECT_EQ(gate.throttler.capacity(), 2);
  EXPECT_EQ(gate.leave(gate.last), "");
  EXPECT_EQ(gate.enter(4), "queued");
}

TEST(Throttler, AvoidedPodsServeOnceTheLastOtherPodIsRemoved) {
  Gate gate(spec_of(1));
  gate.set({{.id = {"a"}, .avoid = true}, {.id = {"b"}}});
  EXPECT_EQ(gate.enter_each({1, 2}), "bqueued");

  EXPECT_EQ(gate.remove("b"), "2→a");
  EXPECT_EQ(gate.enter(3), "queued");
  EXPECT_EQ(gate.update({.id = {"c"}, .avoid = true}), "3→c");
}

TEST(Throttler, RequestThatTriedAPodBeforeItsRemovalMayReturnToIt) {
  Gate gate(spec_of(0));
  gate.pods({"a"});
  const PodRef before = gate.run(1);
  gate.remove("a");
  gate.update({.id = {"a"}});
  gate.leave(before);

  EXPECT_EQ(gate.enter(1, {before}), "a");
}

// Goal: a shared pod's overload does not spin.
// Method: a pod without room is left alone until its time is up or a request on it has ended.
TEST(Throttler, PodThatRefusesAsFullIsPausedForATime) {
  Gate gate(spec_of(3));
  gate.pods({"a", "b"});
  const PodRef a = gate.run(1);
  EXPECT_EQ(gate.leave_full(a, kStart + 100ms), "");
  EXPECT_EQ(gate.enter_each({2, 3, 4, 5}), "bbbqueued");
  EXPECT_EQ(gate.throttler.next_resume(), kStart + 100ms);

  gate.now = kStart + 99ms;
  EXPECT_EQ(gate.resume(), "");
  gate.now = kStart + 100ms;
  EXPECT_EQ(gate.resume(), "5→a");
  EXPECT_EQ(gate.throttler.next_resume(), std::nullopt);
  EXPECT_EQ(gate.enter(6), "a");
}

TEST(Throttler, EndOfAnotherRequestShowsThatAPodHasRoomAgain) {
  Gate gate(spec_of(3));
  gate.pods({"a"});
  const PodRef first = gate.run(1);
  const PodRef second = gate.run(2);
  gate.run(3);
  gate.leave_full(first, kStart + 1h);
  gate.leave_full(second, kStart + 1s);
  EXPECT_EQ(gate.enter_each({4, 5}), "queuedqueued");
  EXPECT_EQ(gate.throttler.next_resume(), kStart + 1h);

  EXPECT_EQ(gate.leave(second), "4→a 5→a");
}

TEST(Throttler, PodThatReturnsIsNoLongerPaused) {
  Gate gate(spec_of(1));
  gate.pods({"a"});
  gate.leave_full(gate.run(1), kStart + 1h);
  EXPECT_EQ(gate.enter(2), "queued");

  gate.remove("a");
  EXPECT_EQ(gate.throttler.next_resume(), std::nullopt);
  EXPECT_EQ(gate.update({.id = {"a"}}), "2→a");
}

// 100,000 revisions are known and a hundred of them awake.
TEST(Throttler, SleepingRevisionIsSmall) {
  EXPECT_LE(sizeof(Throttler), 700U);
}

}  // namespace
}  // namespace sluice::activator
