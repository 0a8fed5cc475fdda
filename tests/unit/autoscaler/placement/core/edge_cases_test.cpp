// The edge cases of placement.md 10 that the choice and the planner decide.

#include "autoscaler/placement/core/explain.h"
#include "autoscaler/placement/core/words.h"
#include "tests/unit/autoscaler/placement/core/scene.h"

#include <gtest/gtest.h>

#include <string>

namespace sluice::placement {
namespace {

using namespace std::chrono_literals;

Resources size_of(std::int64_t millicores) {
  return {.cpu = millicores, .memory = kUnbounded, .slots = kUnbounded};
}

// Two places of four replicas, the first liked more and full of small services.
class FullPlace : public ::testing::Test {
 protected:
  FullPlace() {
    scene_.place("fast", {.preference = 0, .capacity = size_of(1000)});
    scene_.place("slow", {.preference = 1, .capacity = size_of(1000)});
    scene_.service("one", {.need = cpu(400)});
    scene_.service("two", {.need = cpu(300)});
    scene_.service("three", {.need = cpu(300)});
    for (const char* name : {"one", "two", "three"}) scene_.run(name, "fast");
    // It may use nothing else, so it has to get in there.
    scene_.service("new", {.need = cpu(250), .wish = {.clusters = {"fast"}}});
  }

  Scene scene_;
};

// E01
TEST_F(FullPlace, NothingIsPlannedWhenNoServiceMayBeMoved) {
  for (const char* name : {"one", "two", "three"}) scene_.facts(name).movable = false;

  EXPECT_EQ(scene_.plan("new"), "no_movable");
}

// E04
TEST_F(FullPlace, OfEqualServicesTheOneThatFreesLeastMovesThenTheLowerId) {
  EXPECT_EQ(scene_.plan("new"), "two fast->slow, then fast");
  EXPECT_EQ(scene_.plan("new"), "two fast->slow, then fast");
}

TEST_F(FullPlace, TheServiceWithTheFewestRequestsInFlightMoves) {
  scene_.measures("two").in_flight = 5;
  scene_.measures("three").in_flight = 7;

  EXPECT_EQ(scene_.plan("new"), "one fast->slow, then fast");
}

TEST_F(FullPlace, ALowerMovePriorityMovesFirst) {
  scene_.facts("three").move_priority = -5;

  EXPECT_EQ(scene_.plan("new"), "three fast->slow, then fast");
}

// E11
TEST_F(FullPlace, ADestinationThatIsFullIsPassedOver) {
  scene_.place("third", {.preference = 2, .capacity = size_of(1000)});
  scene_.service("crowd", {.need = cpu(900)});
  scene_.run("crowd", "slow");

  EXPECT_EQ(scene_.plan("new"), "two fast->third, then fast");
}

TEST_F(FullPlace, AServiceWithMoreReplicasThanMayBeStartedIsPassedOver) {
  scene_.service("small", {.need = cpu(150)});
  scene_.end("two", "fast");
  scene_.run("small", "fast", 2);
  scene_.measures("one").in_flight = scene_.measures("three").in_flight = 9;
  ASSERT_EQ(scene_.plan("new"), "small fast->slow, then fast");

  scene_.starts_max = 1;
  EXPECT_EQ(scene_.plan("new"), "one fast->slow, then fast");
  scene_.starts_max = 0;
  EXPECT_EQ(scene_.plan("new"), "no_starts");
}

// E12
TEST_F(FullPlace, ServicesOfTwoFullPlacesAreNotSwapped) {
  scene_.service("crowd", {.need = cpu(1000)});
  scene_.run("crowd", "slow");

  const PlanOutcome outcome = scene_.outcome("new");

  EXPECT_EQ(outcome.reason, NoPlan::destinations_full);
  EXPECT_EQ(plan_words(scene_.ledger(), scene_, outcome, scene_.limits, Asker::waits, scene_.now),
            "what would have to leave has no other place with room; services of full places are "
            "not swapped, since each needs its room first");
}

// E13
TEST_F(FullPlace, TheSecondOfTwoDemandsPlansAroundTheFirst) {
  scene_.service("newer", {.need = cpu(250), .wish = {.clusters = {"fast"}}});
  const PlanOutcome first = scene_.outcome("new");
  ASSERT_TRUE(first.plan);
  const auto reserved =
      reserve(scene_.ledger(), *first.plan, scene_.demand("new"), MoveId{1}, scene_.now + 60s);
  scene_.facts("two").moving = true;

  EXPECT_EQ(scene_.plan("newer"), "three fast->slow, then fast");
  EXPECT_EQ(reserved.size(), 2U);
  EXPECT_EQ(scene_.ledger().find(reserved.front())->owner, Owner::of(MoveId{1}));
  EXPECT_EQ(scene_.ledger().find(reserved.back())->owner, Owner::of(scene_.id("new")));
}

// E61
TEST_F(FullPlace, APinnedServiceIsNotMoved) {
  scene_.service("pinned", {.need = cpu(10), .wish = {.pin = "fast", .move_priority = -9}});
  scene_.end("three", "fast");
  scene_.run("pinned", "fast", 30);

  EXPECT_EQ(scene_.plan("new"), "two fast->slow, then fast");
}

TEST_F(FullPlace, AYoungServiceIsNotMovedYet) {
  for (const char* name : {"one", "two", "three"}) scene_.facts(name).started = scene_.now - 12s;

  const PlanOutcome outcome = scene_.outcome("new");

  EXPECT_EQ(outcome.reason, NoPlan::too_young);
  EXPECT_EQ(outcome.movable_from, scene_.now + 48s);
}

TEST_F(FullPlace, AServiceThatTakesLongToStartIsMovedLater) {
  for (const char* name : {"one", "two", "three"}) {
    scene_.facts(name).started = scene_.now - 70s;
    scene_.facts(name).usual_start = 40s;
  }

  EXPECT_EQ(scene_.outcome("new").movable_from, scene_.now + 10s);
}

TEST_F(FullPlace, AServiceThatWasMovedLatelyRests) {
  scene_.facts("two").cooling_until = scene_.now + 1s;

  EXPECT_EQ(scene_.plan("new"), "three fast->slow, then fast");
}

TEST_F(FullPlace, ServicesOfTheSameApplicationStay) {
  scene_.service("cart", {.need = cpu(250), .wish = {.clusters = {"fast"}}, .application = "web"});
  scene_.facts("two").application = scene_.facts("cart").application;

  EXPECT_EQ(scene_.plan("cart"), "three fast->slow, then fast");
}

TEST_F(FullPlace, ABusyServiceIsNotMovedForASmallGain) {
  scene_.end("one", "fast");
  scene_.end("three", "fast");
  scene_.service("fixed", {.need = cpu(700), .wish = {.pin = "fast"}});
  scene_.run("fixed", "fast");
  scene_.measures("two").in_flight = 100;
  scene_.urgency = Urgency::spare;

  EXPECT_EQ(scene_.plan("new"), "not_worth");
  scene_.urgency = Urgency::cold;
  EXPECT_EQ(scene_.plan("new"), "two fast->slow, then fast");
}

TEST_F(FullPlace, TheLedgerIsAsItWasAfterAPlan) {
  const Resources before = scene_.ledger().free(scene_.node("fast"));

  ASSERT_TRUE(scene_.outcome("new").plan);

  EXPECT_EQ(scene_.ledger().free(scene_.node("fast")), before);
  EXPECT_TRUE(scene_.ledger().holdings(scene_.id("new")).empty());
  EXPECT_EQ(scene_.ledger().problem(), "");
}

// E74
TEST(Gates, AGateThatRefusesIsPlannedForLikeAFullPlace) {
  Scene scene;
  scene.place("fast", {.preference = 0});
  scene.place("slow", {.preference = 1});
  scene.service("pay", {.need = {.memory = 200 * kMebibyte, .slots = 1}});
  scene.run("pay", "fast");
  scene.service("new",
                {.need = {.memory = 256 * kMebibyte, .slots = 1}, .wish = {.clusters = {"fast"}}});
  bool shared = false;
  scene.gate = [&](NodeId node, const Resources& need) {
    const bool granted = node != scene.node("fast");
    return GateAnswer{
        .granted = granted, .shared = shared, .free = 212 * kMebibyte, .claim = need.memory};
  };

  EXPECT_EQ(scene.choose("new", scene.gate), "no: fast has no memory: 212 MiB free, needs 256 MiB");
  EXPECT_EQ(scene.plan("new"), "pay fast->slow, then fast");
  shared = true;
  EXPECT_EQ(scene.plan("new"), "too_many") << "the memory of both is the same";
}

// E05
TEST(Constraints, NoMatchingPlaceIsRefusedAndNamesTheLabels) {
  Scene scene;
  scene.place("fast", {});
  scene.place("slow", {});
  scene.service("model", {.wish = {.where = *model::parse_selector("gpu=yes")}});

  const Choice choice = choose(scene.ledger(), scene.demand("model"));

  EXPECT_TRUE(refused(choice.refusal.reason));
  EXPECT_EQ(scene.choose("model"), "no: no place matches: labels gpu=yes; there are fast, slow");
  EXPECT_EQ(scene.plan("model"), "not_needed");
}

// E06
TEST(Constraints, AMatchingPlaceThatIsStaleIsWaitedForAndNamed) {
  Scene scene;
  scene.place("east", {});
  scene.service("shop");
  scene.set_state("east", PlaceState::stale);

  const Choice choice = choose(scene.ledger(), scene.demand("shop"));

  EXPECT_EQ(choice.refusal.reason, Reason::place_away);
  EXPECT_FALSE(refused(choice.refusal.reason));
  EXPECT_EQ(scene.choose("shop"), "no: east is stale: nothing has been received from it");
}

// E07
TEST(Constraints, AChangedPreferenceAffectsNewReplicasOnly) {
  Scene scene;
  scene.place("a", {.preference = 0});
  scene.place("b", {.preference = 1});
  scene.service("shop");
  EXPECT_EQ(scene.start("shop"), "a");

  scene.set_preference("a", 2);

  EXPECT_EQ(scene.start("shop"), "b");
  EXPECT_EQ(scene.where("shop"), "shop a 1, b 1");
}

// E08
TEST(Sizes, WhatNoEmptyNodeCouldHoldIsRefusedWithoutMoves) {
  Scene scene;
  scene.place("fast", {.capacity = {1000, 4 * kGibibyte, 10}});
  scene.service("pay", {.need = cpu(100)});
  scene.run("pay", "fast");
  scene.service("huge", {.need = {.memory = 8 * kGibibyte, .slots = 1}});

  EXPECT_EQ(scene.choose("huge"),
            "no: too big: needs 8 GiB memory, the largest node has 4 GiB memory");
  const PlanOutcome outcome = scene.outcome("huge");
  EXPECT_EQ(outcome.reason, NoPlan::too_big);
  EXPECT_EQ(outcome.trials, 0);
}

// E09
TEST(Sizes, AFragmentedPlaceMovesServicesAmongItsNodesFirst) {
  Scene scene;
  scene.place("fleet", {.preference = 0, .capacity = size_of(1000), .nodes = 2});
  scene.place("other", {.preference = 1, .capacity = size_of(4000)});
  for (const char* name : {"one", "two"}) scene.service(name, {.need = cpu(400)});
  scene.ledger().take(scene.node("fleet", 0), scene.id("one"), cpu(400));
  scene.ledger().take(scene.node("fleet", 1), scene.id("two"), cpu(400));
  scene.service("big", {.need = cpu(900), .wish = {.clusters = {"fleet"}}});

  EXPECT_EQ(scene.choose("big"), "no: fleet has room in all, but not on one node");
  EXPECT_EQ(scene.plan("big"), "one fleet/0->fleet/1, then fleet");
}

class FourNeeded : public ::testing::Test {
 protected:
  FourNeeded() {
    scene_.place("fast", {.preference = 0, .capacity = size_of(1000)});
    scene_.place("slow", {.preference = 1, .capacity = size_of(9000)});
    for (int at = 0; at < 5; ++at) {
      const std::string name = "s" + std::to_string(at);
      scene_.service(name, {.need = cpu(200)});
      scene_.run(name, "fast");
    }
    scene_.service("big", {.need = cpu(800), .wish = {.clusters = {"fast"}}});
  }

  Scene scene_;
};

// E10
TEST_F(FourNeeded, MoreMovesThanAllowedAreNotPlanned) {
  EXPECT_EQ(scene_.plan("big"), "too_many");
}

TEST_F(FourNeeded, APolicyThatGoesFirstTakesAsManyAsItNeeds) {
  scene_.policy.select = MigrationPolicy::Select::policy_first;

  EXPECT_EQ(scene_.plan("big"),
            "s0 fast->slow, s1 fast->slow, s2 fast->slow, s3 fast->slow, then fast");
}

TEST_F(FourNeeded, WhatAPolicyTookWithoutNeedStays) {
  scene_.service("last", {.need = cpu(1000), .wish = {.move_priority = 9}});
  scene_.end("s0", "fast");
  scene_.end("s1", "fast");
  scene_.end("s2", "fast");
  scene_.run("last", "fast");  // more than fits: it is counted as it is
  scene_.policy.select = MigrationPolicy::Select::policy_first;

  EXPECT_EQ(scene_.plan("big"), "last fast->slow, s3 fast->slow, then fast");
}

// Of many services not every set is tried: the policy's own order takes over, within the same
// bounds.
TEST(Sizes, OfManyServicesAFewAreFoundWithoutTryingEverySet) {
  Scene scene;
  scene.place("fast", {.preference = 0, .capacity = size_of(100'000)});
  scene.place("slow", {.preference = 1, .capacity = size_of(9000)});
  for (int at = 0; at < 998; ++at) {
    const std::string name = "s" + std::to_string(at);
    scene.service(name, {.need = cpu(100)});
    scene.run(name, "fast");
  }
  scene.service("big", {.need = cpu(500), .wish = {.clusters = {"fast"}}});

  EXPECT_EQ(scene.plan("big"), "s0 fast->slow, s1 fast->slow, s2 fast->slow, then fast");
  EXPECT_LE(scene.outcome("big").trials, scene.limits.trials_max);

  scene.service("fixed", {.need = cpu(100), .wish = {.pin = "fast"}});
  scene.run("fixed", "fast", 2);
  EXPECT_EQ(scene.plan("big"), "too_many");
}

// E67
TEST(Nodes, WithoutNodesEverythingWaits) {
  Scene scene;
  scene.place("fast", {.nodes = 0});
  scene.service("shop", {.need = cpu(100)});

  const Choice choice = choose(scene.ledger(), scene.demand("shop"));

  EXPECT_EQ(choice.refusal.reason, Reason::pressure);
  EXPECT_EQ(scene.choose("shop"), "no: no node takes replicas now");
}

// E70
TEST(Nodes, EachAdmissionIsInTheLedgerBeforeTheNextIsJudged) {
  Scene scene;
  scene.place("east", {.capacity = size_of(1000)});
  int admitted = 0;
  for (int at = 0; at < 16; ++at) {
    const std::string name = "app" + std::to_string(at);
    scene.service(name, {.need = cpu(100)});
    const Demand demand = scene.demand(name);
    const Choice choice = choose(scene.ledger(), demand);
    if (!choice.node) continue;
    ++admitted;
    (void)scene.ledger().reserve({.owner = Owner::of(demand.service),
                                  .service = demand.service,
                                  .node = *choice.node,
                                  .room = demand.need,
                                  .expires = scene.now + 60s});
  }

  EXPECT_EQ(admitted, 10);
}

TEST(Nodes, ALimitPerNodeCountsReplicasToCome) {
  Scene scene;
  scene.place("fleet", {.nodes = 2});
  scene.service("dns", {.wish = {.max_per_node = 1}});
  scene.run("dns", "fleet");
  (void)scene.ledger().reserve({.owner = Owner::of(scene.id("dns")),
                                .service = scene.id("dns"),
                                .node = scene.node("fleet", 1),
                                .room = {.slots = 1},
                                .expires = scene.now + 60s});

  EXPECT_EQ(scene.choose("dns"),
            "no: each node with room has 1 replica, the most that max-per-node allows");
}

}  // namespace
}  // namespace sluice::placement
