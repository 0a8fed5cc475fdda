#include "activator/core/balancer.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

namespace sluice::activator {
namespace {

constexpr BalancingPolicy kPolicies[] = {
    BalancingPolicy::first_available, BalancingPolicy::round_robin,
    BalancingPolicy::random_choice_2, BalancingPolicy::least_in_flight};

std::string padded(std::size_t number) {
  const std::string digits = std::to_string(number);
  return std::string(3 - digits.size(), '0') + digits;
}

// Pods called 000, 001 … with loads of the test's choosing, beside a balancer.
class Pods {
 public:
  Pods(BalancingPolicy policy, std::size_t count, std::uint64_t seed = 1, std::uint32_t limit = 0)
      : balancer_(policy, seed), roster_(balancer_.draws()), limit_(limit) {
    grow(count);
  }

  void grow(std::size_t count) {
    for (std::size_t i = roster_.size(); i < count; ++i) {
      roster_.list({.id = {padded(i)}}, limit_);
    }
  }

  void shrink(std::size_t count) {
    for (std::size_t i = roster_.size(); i > count; --i) {
      roster_.unlist({padded(i - 1)});
    }
  }

  /// Its slot, which is its number, or "none"; its load stays as it is.
  std::string look() {
    const std::uint32_t slot = balancer_.pick(roster_);
    return slot == Balancer::kNone ? "none" : std::to_string(slot);
  }

  /// Several looks, joined.
  std::string looks(int count) {
    std::string text;
    for (int i = 0; i < count; ++i) {
      text += look();
    }
    return text;
  }

  int look_number() { return std::stoi(look()); }

  void load(std::size_t pod, int requests) {
    for (int i = 0; i < requests; ++i) {
      running_[pod].push_back(roster_.charge(static_cast<std::uint32_t>(pod)));
    }
  }

  void unload(std::size_t pod) {
    roster_.discharge(running_[pod].back());
    running_[pod].pop_back();
  }

 private:
  Balancer balancer_;
  PodRoster roster_;
  std::uint32_t limit_;
  std::map<std::size_t, std::vector<PodRef>> running_;
};

TEST(Balancer, PoliciesAreFoundByName) {
  EXPECT_EQ(parse_policy("first-available"), BalancingPolicy::first_available);
  EXPECT_EQ(parse_policy("round-robin"), BalancingPolicy::round_robin);
  EXPECT_EQ(parse_policy("random-choice-2"), BalancingPolicy::random_choice_2);
  EXPECT_EQ(parse_policy("least-in-flight"), BalancingPolicy::least_in_flight);
  EXPECT_EQ(parse_policy("Round-Robin"), std::nullopt);
  EXPECT_EQ(parse_policy(""), std::nullopt);
}

// activator.md 14.2.
TEST(Balancer, DefaultFillsPodsInOrderOnlyForSmallLimits) {
  EXPECT_EQ(default_policy(0), BalancingPolicy::least_in_flight);
  EXPECT_EQ(default_policy(1), BalancingPolicy::first_available);
  EXPECT_EQ(default_policy(3), BalancingPolicy::first_available);
  EXPECT_EQ(default_policy(4), BalancingPolicy::least_in_flight);
}

TEST(Balancer, FirstAvailableTakesTheFirstWithRoom) {
  Pods pods(BalancingPolicy::first_available, 3, 1, 2);

  EXPECT_EQ(pods.looks(2), "00");
  pods.load(0, 2);
  EXPECT_EQ(pods.look(), "1");
  pods.unload(0);
  EXPECT_EQ(pods.look(), "0");
}

// activator.md 12, row 43.
TEST(Balancer, RoundRobinRestartsWhenTheListShrinksBelowItsPosition) {
  Pods pods(BalancingPolicy::round_robin, 3);

  EXPECT_EQ(pods.looks(2), "01");
  pods.shrink(2);
  EXPECT_EQ(pods.looks(3), "010");
  pods.grow(4);
  EXPECT_EQ(pods.looks(4), "1230");
}

TEST(Balancer, RoundRobinContinuesAfterTheLastChosenPod) {
  Pods pods(BalancingPolicy::round_robin, 200, 1, 1);
  for (std::size_t i = 0; i < 200; ++i) {
    if (i != 5 && i != 150) {
      pods.load(i, 1);
    }
  }

  EXPECT_EQ(pods.look(), "5");
  EXPECT_EQ(pods.look(), "150");
  EXPECT_EQ(pods.look(), "5");
}

// Row 45.
TEST(Balancer, RandomChoiceOfTwoPodsTakesTheUnloadedOne) {
  Pods pods(BalancingPolicy::random_choice_2, 2);
  pods.load(0, 1);

  EXPECT_EQ(pods.looks(20), std::string(20, '1'));
}

TEST(Balancer, RandomChoiceReachesEveryPodAndNeverTheMostLoaded) {
  Pods pods(BalancingPolicy::random_choice_2, 5, 7);
  pods.load(2, 9);
  std::vector<int> taken(5, 0);

  for (int i = 0; i < 1000; ++i) {
    ++taken[static_cast<std::size_t>(pods.look_number())];
  }

  EXPECT_EQ(taken[2], 0);
  for (const std::size_t pod : {0U, 1U, 3U, 4U}) {
    EXPECT_GT(taken[pod], 150);
  }
}

TEST(Balancer, LeastInFlightSharesTiesInTurn) {
  Pods pods(BalancingPolicy::least_in_flight, 3);

  EXPECT_EQ(pods.looks(4), "0120");
  pods.load(1, 3);
  pods.load(2, 1);
  pods.load(0, 2);
  EXPECT_EQ(pods.look(), "2");
}

TEST(Balancer, LeastInFlightKeepsLoadsWhenTheListBecomesShort) {
  Pods pods(BalancingPolicy::least_in_flight, 70);
  for (std::size_t i = 0; i < 70; ++i) {
    pods.load(i, i == 40 ? 1 : 2);
  }

  pods.shrink(64);

  EXPECT_EQ(pods.look(), "40");
}

TEST(Balancer, LeastInFlightOfManyPodsTakesTheBetterOfTwo) {
  Pods pods(BalancingPolicy::least_in_flight, 100, 3);
  for (std::size_t i = 0; i < 50; ++i) {
    pods.load(i, 5);
  }
  int loaded = 0;

  for (int i = 0; i < 1000; ++i) {
    loaded += pods.look_number() < 50 ? 1 : 0;
  }

  EXPECT_GT(loaded, 150);
  EXPECT_LT(loaded, 350);
}

// Goal: whatever the policy, a pod is found exactly when one has room.
// Method: every pattern of full pods among six, and one pod with room among a hundred.
TEST(Balancer, EveryPolicyFindsTheLastPodWithRoom) {
  for (const BalancingPolicy policy : kPolicies) {
    SCOPED_TRACE("policy " + std::to_string(static_cast<int>(policy)));
    EXPECT_EQ(Pods(policy, 0).look(), "none");
    for (unsigned full = 0; full < 64; ++full) {
      Pods pods(policy, 6, 5, 1);
      for (unsigned i = 0; i < 6; ++i) {
        pods.load(i, static_cast<int>(full >> i & 1U));
      }
      const std::string found = pods.look();

      ASSERT_EQ(found == "none", full == 63);
      ASSERT_TRUE(found == "none" || (full >> std::stoi(found) & 1U) == 0);
    }
    Pods many(policy, 100, 5, 1);
    for (std::size_t i = 0; i < 100; ++i) {
      many.load(i, i == 77 ? 0 : 1);
    }
    EXPECT_EQ(many.look(), "77");
  }
}

}  // namespace
}  // namespace sluice::activator
