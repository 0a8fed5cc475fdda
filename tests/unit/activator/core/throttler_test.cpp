#include "activator/core/throttler.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace sluice::activator {
namespace {

using namespace std::chrono_literals;

constexpr TimePoint kStart{1'700'000'000s};

// A throttler told in words: pods by name, requests by number, answers as text.
class Gate {
 public:
  explicit Gate(const ThrottlerSpec& spec) : throttler(spec) {}

  std::string set(const std::vector<PodState>& states) {
    std::vector<Admission> admitted;
    throttler.set_pods(states, admitted);
    return show(admitted);
  }

  std::string pods(const std::vector<std::string>& names) {
    std::vector<PodState> states;
    for (const std::string& name : names) {
      states.push_back({.id = {name}});
    }
    return set(states);
  }

  /// "pod", "queued" or "refused"; remembers the last pod and ticket.
  std::string enter(std::uint64_t cookie, const std::vector<PodRef>& tried = {}) {
    entered = throttler.enter(now, cookie, tried);
    switch (entered.entry) {
      case Entry::admitted:
        return throttler.pod_id(entered.pod).name;
      case Entry::queued:
        return "queued";
      case Entry::refused:
        return entered.error == Error::queue_full ? "queue full" : "cannot scale";
    }
    return "";
  }

  PodRef run(std::uint64_t cookie) {
    EXPECT_NE(enter(cookie), "queued");
    return entered.pod;
  }

  /// One after the other; what became of them, joined.
  std::string enter_each(const std::vector<std::uint64_t>& cookies) {
    std::string text;
    for (const std::uint64_t cookie : cookies) {
      text += enter(cookie);
    }
    return text;
  }

  std::string leave(PodRef pod) {
    std::vector<Admission> admitted;
    throttler.leave(pod, admitted);
    return show(admitted);
  }

  std::string show(const std::vector<Admission>& admitted) {
    std::string text;
    for (const Admission& one : admitted) {
      text += (text.empty() ? "" : " ") + std::to_string(one.cookie) + "→" +
              throttler.pod_id(one.pod).name;
      last = one.pod;
    }
    return text;
  }

  Throttler throttler;
  Entered entered;
  PodRef last;
  TimePoint now = kStart;
};

ThrottlerSpec spec_of(std::int32_t concurrency, std::string_view policy = "") {
  return {.container_concurrency = concurrency, .policy = parse_policy(policy)};
}

// activator.md 12, rows 22 and 23.
TEST(Throttler, ActivatorsShareWhatStandsBehindAClusterIp) {
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

// Rows 24, 41 and 42.
TEST(Throttler, WithoutLimitEverybodyRunsOnceThereIsAPod) {
  Gate gate(spec_of(0));

  EXPECT_EQ(gate.enter(1), "queued");
  EXPECT_EQ(gate.enter(2), "queued");
  EXPECT_EQ(gate.pods({"a"}), "1→a 2→a");
  EXPECT_EQ(gate.enter(3), "a");
  EXPECT_EQ(gate.throttler.capacity(), std::nullopt);
}

// Row 29.
TEST(Throttler, WithoutPodsEverybodyWaits) {
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
TEST(Throttler, RoundRobinStartsAnewWhenPodsGo) {
  Gate gate(spec_of(5, "round-robin"));
  gate.pods({"a", "b", "c"});
  gate.enter(1);
  gate.enter(2);

  gate.pods({"a", "b"});

  EXPECT_EQ(gate.enter_each({3, 4}), "ab");
}

// Row 44: the reference sends the loser to the tail; here nobody loses.
TEST(Throttler, FullPodsLetWaitersInInTheirOrder) {
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
TEST(Throttler, RandomChoiceSeesWhatRuns) {
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

TEST(Throttler, PodThatGoesFinishesWhatItRuns) {
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

TEST(Throttler, PodThatComesBackIsStillChargedWithWhatItRuns) {
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

TEST(Throttler, RetryGoesElsewhere) {
  Gate gate(spec_of(0));
  gate.pods({"a", "b"});
  const std::string first = gate.enter(1);
  const PodRef tried = gate.entered.pod;
  gate.leave(tried);

  for (int i = 0; i < 10; ++i) {
    EXPECT_NE(gate.enter(1, {tried}), first);
  }
}

TEST(Throttler, RetryWaitsAheadOfEverybodyAndBlocksNobody) {
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

TEST(Throttler, PodThatWentAwayAndCameBackMayBeTriedAgain) {
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

TEST(Throttler, WaitersExpireOldestFirst) {
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

TEST(Throttler, WithoutLimitOfAgeNobodyExpires) {
  Gate gate(spec_of(1));
  gate.enter(1);

  EXPECT_FALSE(gate.throttler.expire(kStart + 1000h).has_value());
}

// activator.md 14.3.
TEST(Throttler, ScarcityLowersTheBoundOfWaiting) {
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

TEST(Throttler, WhoWaitsWhenTheBoundFallsMayStay) {
  Gate gate(spec_of(1));
  for (std::uint64_t i = 0; i < 150; ++i) {
    gate.enter(i);
  }
  std::vector<Dismissal> dismissed;

  gate.throttler.set_grant({.desired = 2, .granted = 1}, dismissed);

  EXPECT_EQ(gate.throttler.waiting(), 150);
  EXPECT_EQ(gate.enter(150), "queue full");
}

TEST(Throttler, ImpossibleGrowthDismissesWaitersAndRefusesNewcomers) {
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

TEST(Throttler, FailedStartEmptiesTheQueue) {
  Gate gate(spec_of(1));
  gate.enter(1);
  gate.enter(2);
  std::vector<Dismissal> dismissed;

  gate.throttler.fail_all(dismissed);

  EXPECT_EQ(dismissed.size(), 2U);
  EXPECT_EQ(gate.throttler.waiting(), 0);
  EXPECT_EQ(gate.enter(3), "queued");
}

TEST(Throttler, RepeatedPodCountsOnce) {
  Gate gate(spec_of(1));

  gate.pods({"a", "a"});

  EXPECT_EQ(gate.throttler.pods(), 1U);
  EXPECT_EQ(gate.throttler.capacity(), 1);
}

}  // namespace
}  // namespace sluice::activator
