#include "autoscaler/placement/core/policy.h"

#include "autoscaler/placement/core/algorithms.h"
#include "tests/unit/autoscaler/placement/core/scene.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace sluice::placement {
namespace {

class Policies : public ::testing::Test {
 protected:
  Policies() {
    scene_.place("fast", {.preference = 0});
    scene_.place("slow", {.preference = 1});
    for (const char* name : {"a", "b", "c"}) {
      scene_.service(name, {.need = cpu(1000)});
      scene_.run(name, "fast");
    }
  }

  [[nodiscard]] std::string sorted() {
    std::vector<ServiceId> services{scene_.id("a"), scene_.id("b"), scene_.id("c")};
    scene_.parameters().begin_cycle();
    (void)sort_by_policy(services, scene_.policy, scene_, scene_.parameters());
    std::string text;
    for (const ServiceId service : services) text += scene_.find(service)->name;
    return text;
  }

  Scene scene_;
};

std::string problems(const MigrationPolicy& policy) {
  std::string text;
  for (const WrongPolicy& wrong : check(policy)) text += wrong.problem.text() + "\n";
  return text;
}

TEST(CpuUtilization, OfAReplicaWithoutARequestForCpuIsAShareOfOneCore) {
  const Algorithm& algorithm = *find_algorithm("cpu-utilization");
  const auto rate = [&algorithm](std::int64_t used, std::int64_t requested, std::int64_t replicas) {
    const std::array values{used, requested, replicas};
    return algorithm.rate(values);
  };

  EXPECT_EQ(rate(500, 2000, 2), 250'000);
  EXPECT_EQ(rate(500, 0, 2), 250'000);
  EXPECT_EQ(rate(500, 0, 1), 500'000);
}

TEST_F(Policies, OrderGoesByTheFirstAlgorithmAndOfEqualsByTheNext) {
  scene_.policy = {.name = "p", .algorithms = {{.name = "in-flight"}, {.name = "request-rate"}}};
  scene_.measures("a").in_flight = 3;
  scene_.measures("b").request_rate = 2000;

  EXPECT_EQ(sorted(), "cba");
}

TEST_F(Policies, ValuesOfOneQuantumAreEqual) {
  scene_.policy = {
      .name = "p",
      .algorithms = {{.name = "cpu-utilization", .quantum = 100'000}, {.name = "request-rate"}}};
  scene_.measures("a").cpu_used = 109;
  scene_.measures("b").cpu_used = 101;
  scene_.measures("c").cpu_used = 90;
  scene_.measures("b").request_rate = 2000;

  EXPECT_EQ(sorted(), "cab");
}

TEST_F(Policies, OrderPutsAServiceWithoutAMeasureLast) {
  scene_.measures("a").in_flight = std::nullopt;
  scene_.measures("b").in_flight = 900;

  EXPECT_EQ(sorted(), "cba");
}

TEST_F(Policies, ScoringAddsWeightedSharesOfTheRange) {
  scene_.policy = {
      .name = "p",
      .mode = MigrationPolicy::Mode::scoring,
      .algorithms = {{.name = "in-flight", .weight = 1}, {.name = "request-rate", .weight = 3}}};
  scene_.measures("a").in_flight = 10;
  scene_.measures("b").request_rate = 10'000;
  scene_.measures("c").in_flight = 5;
  scene_.measures("c").request_rate = 5000;

  // a: 0 + 3, b: 1 + 0, c: 0.5 + 1.5
  EXPECT_EQ(sorted(), "acb");
}

TEST_F(Policies, ScoringGivesNothingForAMissingMeasure) {
  scene_.policy = {
      .name = "p", .mode = MigrationPolicy::Mode::scoring, .algorithms = {{.name = "in-flight"}}};
  scene_.measures("a").in_flight = std::nullopt;
  scene_.measures("b").in_flight = 4;
  scene_.measures("c").in_flight = 2;

  EXPECT_EQ(sorted(), "cab");
}

TEST_F(Policies, EqualScoresAreOrderedByMovePriority) {
  scene_.policy = {
      .name = "p", .mode = MigrationPolicy::Mode::scoring, .algorithms = {{.name = "in-flight"}}};
  scene_.facts("b").move_priority = -1;

  EXPECT_EQ(sorted(), "bac");
}

TEST_F(Policies, TheDirectionOfAPolicyReplacesThatOfTheAlgorithm) {
  scene_.policy = {.name = "p",
                   .algorithms = {{.name = "in-flight", .direction = Direction::high_first}}};
  scene_.measures("b").in_flight = 7;

  EXPECT_EQ(sorted(), "bac");
}

TEST_F(Policies, DispersionMovesFirstWhatIsSpreadAlready) {
  scene_.service("d", {.need = cpu(1000), .application = "web"});
  scene_.facts("c").application = scene_.facts("d").application;
  scene_.facts("a").application = ApplicationId{100};
  scene_.facts("b").application = ApplicationId{101};
  scene_.run("d", "slow");
  scene_.policy = {.name = "p", .algorithms = {{.name = "dispersion"}}};

  EXPECT_EQ(sorted(), "cab");
}

TEST_F(Policies, HomeDistanceMovesFirstWhatIsFarthestFromHome) {
  scene_.run("c", "slow");
  scene_.policy = {.name = "p", .algorithms = {{.name = "home-distance"}}};

  EXPECT_EQ(sorted(), "cab");
}

TEST_F(Policies, RestartCostIsStartTimeOfAllReplicas) {
  scene_.run("a", "fast", 4);
  scene_.policy = {.name = "p", .algorithms = {{.name = "restart-cost"}}};
  scene_.facts("b").usual_start = std::chrono::seconds{9};

  EXPECT_EQ(sorted(), "cab");
}

TEST_F(Policies, AParameterIsMeasuredOnceACycleForAllThatUseIt) {
  scene_.policy = {.name = "p",
                   .mode = MigrationPolicy::Mode::scoring,
                   .algorithms = {{.name = "in-flight"},
                                  {.name = "in-flight", .direction = Direction::high_first}}};

  (void)sorted();
  EXPECT_EQ(scene_.measured.at({Parameter::in_flight, scene_.id("a")}), 1);

  (void)sorted();
  EXPECT_EQ(scene_.measured.at({Parameter::in_flight, scene_.id("a")}), 2);
}

TEST_F(Policies, AParameterThatNoAlgorithmUsesIsNotMeasured) {
  (void)sorted();

  EXPECT_FALSE(scene_.measured.contains({Parameter::cpu_used, scene_.id("a")}));
}

TEST(PolicyCheck, TheBuiltInPolicyIsRight) {
  EXPECT_EQ(problems(default_policy()), "");
}

// E64
TEST(PolicyCheck, AnUnknownAlgorithmIsNamedWithASuggestionAndTheList) {
  EXPECT_EQ(problems({.name = "p", .algorithms = {{.name = "dispersal"}}}),
            "policy `p`: unknown algorithm `dispersal`; did you mean `dispersion`? there are "
            "cpu-utilization, dispersion, in-flight, request-rate, restart-cost, home-distance\n");
}

TEST(PolicyCheck, ScoringWithoutAnyWeightIsRefused) {
  EXPECT_EQ(problems({.name = "p",
                      .mode = MigrationPolicy::Mode::scoring,
                      .algorithms = {{.name = "in-flight", .weight = 0}}}),
            "policy `p` scores, and no algorithm has a weight above 0; give one a weight, or "
            "write `mode: order`\n");
}

TEST(PolicyCheck, WeightsAndQuantaOutOfRangeAreRefused) {
  EXPECT_EQ(check({.name = "p", .algorithms = {{.name = "in-flight", .weight = -1}}}).size(), 1U);
  EXPECT_EQ(check({.name = "p", .algorithms = {{.name = "in-flight", .quantum = 0}}}).size(), 1U);
}

TEST(PolicyCheck, AWrongAlgorithmHasItsPlaceInTheList) {
  const auto wrong = check({.name = "p", .algorithms = {{.name = "in-flight"}, {.name = "x"}}});

  ASSERT_EQ(wrong.size(), 1U);
  EXPECT_EQ(wrong[0].algorithm, 1U);
}

TEST(PolicyFor, TheFirstThatNamesTheCauseDecides) {
  const std::vector<MigrationPolicy> policies{
      {.name = "a", .triggers = {MoveCause::drain}},
      {.name = "b", .triggers = {MoveCause::full, MoveCause::drain}}};

  EXPECT_EQ(policy_for(policies, MoveCause::drain).name, "a");
  EXPECT_EQ(policy_for(policies, MoveCause::full).name, "b");
  EXPECT_EQ(policy_for(policies, MoveCause::home), default_policy());
}

}  // namespace
}  // namespace sluice::placement
