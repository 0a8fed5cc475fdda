// What is planned while moves run, and what is not.

#include "autoscaler/placement/core/moves.h"
#include "tests/unit/autoscaler/placement/core/scene.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <string>

namespace sluice::placement {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

// fast is full with three services of which any may go to slow; each demand likes fast alone.
class FullFast : public ::testing::Test {
 protected:
  FullFast() {
    scene.place("fast", {.capacity = {4000, kUnbounded, 3}});
    scene.place("slow", {.preference = 1});
    for (const char* name : {"calm", "busy", "lazy"}) {
      scene.service(name, {.need = {.cpu = 1000, .slots = 1}});
      scene.run(name, "fast");
    }
    scene.measures("calm") = {.cpu_used = 900, .in_flight = 0};
    scene.measures("busy") = {.cpu_used = 500, .in_flight = 9};
    scene.measures("lazy") = {.cpu_used = 10, .in_flight = 2};
    for (const char* name : {"first", "second"}) {
      scene.service(name, {.need = {.cpu = 1000, .slots = 1}, .wish = {.clusters = {"fast"}}});
    }
    scene.now = Scene::kStart + minutes{10};
    scene.urgency = Urgency::cold;
  }

  /// The plan of a demand is carried out as far as its moves are begun.
  void carry_out(const std::string& demand) {
    const PlanOutcome outcome = scene.outcome(demand);
    ASSERT_TRUE(outcome.plan.has_value()) << name(outcome.reason);
    for (const PlannedMove& planned : outcome.plan->moves) {
      const std::string victim = scene.find(planned.service)->name;
      ASSERT_TRUE(moves
                      .add({.service = planned.service,
                            .from = planned.from,
                            .to = planned.to,
                            .spec = {.service = victim,
                                     .from = "fast",
                                     .to = "slow",
                                     .cause = MoveCause::full,
                                     .held_for = scene.id(demand)}},
                           scene.now)
                      .has_value());
      scene.facts(victim).moving = true;
    }
    static_cast<void>(moves.begin_due(scene.now));
  }

  Scene scene;
  Moves moves{{}};
};

TEST_F(FullFast, TheSecondDemandOfACycleGetsAnotherVictim) {
  carry_out("first");

  EXPECT_EQ(moves.records().front().service, "calm");
  EXPECT_EQ(scene.plan("second"), "lazy fast->slow, then fast");
}

TEST_F(FullFast, ADemandThatGrowsIsPlannedForTheDifferenceAndRunningMovesContinue) {
  carry_out("first");
  scene.service("rest", {.need = {.cpu = 1000, .slots = 1}, .wish = {.clusters = {"fast"}}});

  carry_out("rest");

  ASSERT_EQ(moves.running().size(), 2U);
  EXPECT_EQ(moves.move(moves.running().front()).record().service, "calm");
  EXPECT_EQ(moves.move(moves.running().back()).record().service, "lazy");
}

TEST_F(FullFast, AnotherPolicyAppliesToTheNextPlanAndNotToMovesThatRun) {
  carry_out("first");
  scene.policy = {.name = "requests",
                  .algorithms = {{.name = "in-flight", .direction = Direction::high_first}}};

  EXPECT_EQ(scene.plan("second"), "busy fast->slow, then fast");
  ASSERT_EQ(moves.running().size(), 1U);
  EXPECT_EQ(moves.move(moves.running().front()).record().service, "calm");
  EXPECT_EQ(moves.move(moves.running().front()).state(), MoveState::planned);
}

TEST(PlacedReplicas, StayWhenTheirPlaceLosesTheLabelTheyAskedFor) {
  Scene scene;
  scene.place("fast", {.labels = {{"gpu", "yes"}}});
  scene.place("slow", {.preference = 1, .labels = {{"gpu", "yes"}}});
  model::PlacementWish wish;
  wish.where.expressions.push_back({.key = "gpu", .values = {}});
  scene.service("shop", {.wish = wish});
  scene.run("shop", "fast", 2);
  Place fast = scene.ledger().place(scene.place_id("fast"));
  fast.labels.clear();

  scene.ledger().update_place(scene.place_id("fast"), fast);

  EXPECT_EQ(scene.start("shop"), "slow");
  EXPECT_EQ(scene.where("shop"), "shop fast 2, slow 1");
}

TEST(HomeWatch, RoomThatIsFreeOnlyBrieflyBringsNoServiceHome) {
  Scene scene;
  scene.place("fast", {.capacity = {kUnbounded, kUnbounded, 1}});
  scene.place("slow", {.preference = 1});
  scene.service("shop", {.need = {.cpu = 100, .slots = 1}});
  scene.service("pay", {.need = {.cpu = 100, .slots = 1}});
  scene.run("shop", "slow");
  scene.now += minutes{30};
  HomeWatch watch;
  const std::array services{scene.id("shop")};
  const auto moves_within = [&](Duration length) {
    std::size_t found = 0;
    for (const TimePoint end = scene.now + length; scene.now < end; scene.now += seconds{5}) {
      scene.parameters().begin_cycle();
      found +=
          watch.look(scene.ledger(), scene, scene.parameters(), services, {}, {}, scene.now).size();
    }
    return found;
  };

  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(moves_within(minutes{9}), 0U);
    scene.run("pay", "fast");
    EXPECT_EQ(moves_within(minutes{1}), 0U);
    scene.end("pay", "fast");
  }

  EXPECT_EQ(watch.suppressed(), 3);
  EXPECT_GE(moves_within(minutes{11}), 1U);
}

}  // namespace
}  // namespace sluice::placement
