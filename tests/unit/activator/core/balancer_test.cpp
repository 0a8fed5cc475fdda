#include "activator/core/balancer.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace sluice::activator {
namespace {

std::vector<PodLoad> open_pods(std::size_t count) {
  return std::vector<PodLoad>(count, PodLoad{.in_flight = 0, .open = true});
}

TEST(Balancer, PoliciesAreKnownByName) {
  for (const BalancingPolicy policy :
       {BalancingPolicy::first_available, BalancingPolicy::round_robin,
        BalancingPolicy::random_choice_2, BalancingPolicy::least_in_flight}) {
    EXPECT_EQ(parse_policy(name_of(policy)), policy);
  }
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
  Balancer balancer(BalancingPolicy::first_available, 1);
  std::vector<PodLoad> pods = open_pods(3);

  EXPECT_EQ(balancer.pick(pods, {}), 0U);
  EXPECT_EQ(balancer.pick(pods, {}), 0U);
  pods[0].open = false;
  EXPECT_EQ(balancer.pick(pods, {}), 1U);
}

// activator.md 12, row 43.
TEST(Balancer, RoundRobinStartsAnewWhenTheListShrinksBelowItsTurn) {
  Balancer balancer(BalancingPolicy::round_robin, 1);
  const std::vector<PodLoad> pods = open_pods(3);

  EXPECT_EQ(balancer.pick(pods, {}), 0U);
  EXPECT_EQ(balancer.pick(pods, {}), 1U);
  EXPECT_EQ(balancer.pick(std::span(pods).first(2), {}), 0U);
  EXPECT_EQ(balancer.pick(std::span(pods).first(2), {}), 1U);
}

// Row 45.
TEST(Balancer, RandomChoiceOfTwoPodsTakesTheUnloadedOne) {
  Balancer balancer(BalancingPolicy::random_choice_2, 1);
  std::vector<PodLoad> pods = open_pods(2);
  pods[0].in_flight = 1;

  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(balancer.pick(pods, {}), 1U);
  }
}

TEST(Balancer, RandomChoiceReachesEveryPodAndNeverTheMostLoaded) {
  Balancer balancer(BalancingPolicy::random_choice_2, 7);
  std::vector<PodLoad> pods = open_pods(5);
  pods[2].in_flight = 9;
  std::vector<int> taken(5, 0);

  for (int i = 0; i < 1000; ++i) {
    ++taken[*balancer.pick(pods, {})];
  }

  EXPECT_EQ(taken[2], 0);
  for (const std::size_t pod : {0U, 1U, 3U, 4U}) {
    EXPECT_GT(taken[pod], 150);
  }
}

TEST(Balancer, LeastInFlightSharesTiesInTurn) {
  Balancer balancer(BalancingPolicy::least_in_flight, 1);
  std::vector<PodLoad> pods = open_pods(3);

  EXPECT_EQ(balancer.pick(pods, {}), 0U);
  EXPECT_EQ(balancer.pick(pods, {}), 1U);
  EXPECT_EQ(balancer.pick(pods, {}), 2U);
  EXPECT_EQ(balancer.pick(pods, {}), 0U);
  pods[1].in_flight = 3;
  pods[2].in_flight = 1;
  pods[0].in_flight = 2;
  EXPECT_EQ(balancer.pick(pods, {}), 2U);
}

TEST(Balancer, LeastInFlightOfManyPodsTakesTheBetterOfTwo) {
  Balancer balancer(BalancingPolicy::least_in_flight, 3);
  std::vector<PodLoad> pods = open_pods(100);
  for (std::size_t i = 0; i < 50; ++i) {
    pods[i].in_flight = 5;
  }
  int loaded = 0;

  for (int i = 0; i < 1000; ++i) {
    loaded += *balancer.pick(pods, {}) < 50 ? 1 : 0;
  }

  EXPECT_GT(loaded, 150);
  EXPECT_LT(loaded, 350);
}

// Goal: whatever the policy, a pod is found exactly when one may be taken.
// Method: every pattern of open and left-out pods among six, and one open pod among a hundred.
TEST(Balancer, EveryPolicyFindsTheLastPodWithRoom) {
  for (const BalancingPolicy policy :
       {BalancingPolicy::first_available, BalancingPolicy::round_robin,
        BalancingPolicy::random_choice_2, BalancingPolicy::least_in_flight}) {
    SCOPED_TRACE(std::string(name_of(policy)));
    Balancer balancer(policy, 5);
    EXPECT_EQ(balancer.pick({}, {}), std::nullopt);
    for (unsigned open = 0; open < 64; ++open) {
      for (std::size_t out = 0; out < 6; ++out) {
        std::vector<PodLoad> pods(6);
        for (unsigned i = 0; i < 6; ++i) {
          pods[i].open = (open >> i & 1U) != 0;
        }
        const auto picked = balancer.pick(pods, std::span(&out, 1));

        ASSERT_EQ(picked.has_value(), (open & ~(1U << out)) != 0);
        ASSERT_TRUE(!picked || (pods[*picked].open && *picked != out));
      }
    }
    std::vector<PodLoad> many(100);
    many[77].open = true;
    EXPECT_EQ(balancer.pick(many, {}), 77U);
  }
}

}  // namespace
}  // namespace sluice::activator
