// Moves that are given up, cannot end, or are overtaken by their world.

#include "autoscaler/placement/core/move.h"
#include "tests/unit/autoscaler/placement/core/stage.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <string>

namespace sluice::placement {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

constexpr std::array kRunning{MoveState::reserved, MoveState::starting, MoveState::warming,
                              MoveState::shifting, MoveState::draining};

// The old replicas serve, nothing of the new is left, and no room is held.
void expect_as_before(const Stage& stage, std::int32_t replicas) {
  EXPECT_EQ(stage.state(), MoveState::aborted);
  EXPECT_EQ(stage.count(true), 0);
  EXPECT_EQ(stage.count(false), replicas);
  EXPECT_EQ(stage.taking(false), replicas);
  EXPECT_EQ(stage.orders().reserve, 0);
  EXPECT_EQ(stage.orders().from, replicas);
  EXPECT_EQ(stage.orders().to, 0);
}

TEST(MoveEndings, NewReplicasThatFailEveryRequestAreAvoidedAtOnce) {
  Stage stage{2};
  stage.fails_to = true;
  ASSERT_TRUE(stage.play_until(MoveState::shifting));
  const TimePoint began = stage.now;

  ASSERT_TRUE(stage.play_until(MoveState::aborting));

  EXPECT_LT(stage.now - began, seconds{1});
  EXPECT_EQ(stage.taking(true), 0);
  EXPECT_EQ(stage.taking(false), 2);
  EXPECT_EQ(stage.move.record().end, MoveEnd::shift_failed);
  ASSERT_TRUE(stage.play_until(MoveState::aborted));
  expect_as_before(stage, 2);
  const std::string text = line(stage.move.record());
  EXPECT_NE(text.find("given up: 3 of "), std::string::npos) << text;
  EXPECT_NE(text.find(" requests failed at slow, 0 of "), std::string::npos) << text;
}

TEST(MoveEndings, RequestsThatFailAtBothPlacesAreNoFaultOfTheNewOne) {
  Stage stage{2};
  stage.fails_to = true;
  stage.fails_from = true;

  EXPECT_TRUE(stage.play_until(MoveState::done));
}

TEST(MoveEndings, AStepWithoutReadyReplicasNeverHolds) {
  Stage stage{2};
  stage.rate = 1;
  ASSERT_TRUE(stage.play_until(MoveState::shifting));
  stage.starts = false;
  stage.crash(true);

  while (stage.state() == MoveState::shifting) {
    stage.play(Stage::kTick);
    EXPECT_EQ(stage.taking(false), 2);
  }

  ASSERT_TRUE(stage.play_until(MoveState::aborted));
  expect_as_before(stage, 2);
}

// The service that needed the room has gone.
TEST(MoveEndings, AMoveWithoutItsDemandIsGivenUpBeforeTheShift) {
  for (const MoveState state : {MoveState::reserved, MoveState::starting, MoveState::warming}) {
    Stage stage{2, 0, {.held_for = ServiceId{7}}};
    ASSERT_TRUE(stage.play_until(state));
    stage.move.withdraw();

    ASSERT_TRUE(stage.play_until(MoveState::aborted)) << name(state);
    expect_as_before(stage, 2);
  }
}

TEST(MoveEndings, AMoveWithoutItsDemandIsFinishedAfterTheShiftAndItsRoomIsFree) {
  Stage stage{2, 0, {.held_for = ServiceId{7}}};
  ASSERT_TRUE(stage.play_until(MoveState::shifting));
  stage.move.withdraw();

  ASSERT_TRUE(stage.play_until(MoveState::done));

  EXPECT_EQ(stage.freed, 2);
  EXPECT_FALSE(stage.orders().held_for.has_value());
}

TEST(MoveEndings, ADeletedServiceIsRemovedFromBothPlaces) {
  for (const MoveState state : {MoveState::warming, MoveState::shifting, MoveState::draining}) {
    Stage stage{2};
    ASSERT_TRUE(stage.play_until(state));
    stage.flags.deleted = true;
    stage.flags.wanted = 0;

    ASSERT_TRUE(stage.play_until(MoveState::aborted)) << name(state);

    EXPECT_EQ(stage.count(false), 0);
    EXPECT_EQ(stage.count(true), 0);
    EXPECT_EQ(stage.orders().reserve, 0);
  }
}

TEST(MoveEndings, AChangedTemplateEndsAMoveBeforeTheShift) {
  for (const MoveState state : {MoveState::reserved, MoveState::starting, MoveState::warming}) {
    Stage stage{2};
    ASSERT_TRUE(stage.play_until(state));
    stage.flags.changed = true;

    ASSERT_TRUE(stage.play_until(MoveState::aborted)) << name(state);
    expect_as_before(stage, 2);
    EXPECT_EQ(stage.move.record().end, MoveEnd::withdrawn);
  }
}

TEST(MoveEndings, TheEndOfTheEngineEndsAMoveAtOnceInEveryState) {
  for (const MoveState state : kRunning) {
    Stage stage{2};
    ASSERT_TRUE(stage.play_until(state));
    stage.flags.ending = true;

    stage.play(Stage::kTick);

    EXPECT_EQ(stage.state(), MoveState::aborted) << name(state);
    EXPECT_TRUE(stage.orders().stop.empty());
    EXPECT_EQ(stage.orders().reserve, 0);
  }
}

TEST(MoveEndings, WithoutRoomInTheNextCycleAMoveIsGivenUp) {
  Stage stage{2};
  stage.room = 1;

  ASSERT_TRUE(stage.play_until(MoveState::aborted));

  EXPECT_EQ(stage.count(true), 0);
  EXPECT_EQ(stage.move.record().end, MoveEnd::no_room);
  EXPECT_EQ(stage.move.record().why, "slow has no room for 2 replicas");
}

TEST(MoveEndings, WithoutStartsAMoveIsGivenUpAndItsDestinationIsNotToBlame) {
  Stage stage{2};
  stage.room = 1;
  stage.flags.no_starts = "nothing may be started";

  ASSERT_TRUE(stage.play_until(MoveState::aborted));

  EXPECT_EQ(stage.move.record().end, MoveEnd::withdrawn);
  EXPECT_EQ(stage.move.record().why, "nothing may be started");
}

TEST(MoveEndings, AReplicaThatFailsToStartEndsTheMove) {
  Stage stage{2};
  stage.starts = false;
  ASSERT_TRUE(stage.play_until(MoveState::warming));
  stage.pods.front().seen.failed = true;

  ASSERT_TRUE(stage.play_until(MoveState::aborted));

  expect_as_before(stage, 2);
  EXPECT_EQ(stage.move.record().end, MoveEnd::start_failed);
}

TEST(MoveEndings, ReplicasThatAreNotReadyInTimeEndTheMove) {
  Stage stage{2, 0, {.usual_start = seconds{30}}};
  stage.starts = false;
  const TimePoint began = stage.now;

  ASSERT_TRUE(stage.play_until(MoveState::aborting));

  EXPECT_GE(stage.now - began, seconds{180});
  ASSERT_TRUE(stage.play_until(MoveState::aborted));
  expect_as_before(stage, 2);
}

TEST(MoveEndings, ALostDestinationEndsTheMoveInEveryState) {
  for (const MoveState state : kRunning) {
    Stage stage{2};
    if (state == MoveState::draining) stage.acknowledges = false;
    ASSERT_TRUE(stage.play_until(state));
    stage.flags.to.there = false;

    stage.play(Stage::kTick);

    EXPECT_EQ(stage.taking(false), 2) << name(state);
    stage.acknowledges = true;
    stage.play(seconds{1});
    stage.flags.to.there = true;
    ASSERT_TRUE(stage.play_until(MoveState::aborted)) << name(state);
    expect_as_before(stage, 2);
  }
}

TEST(MoveEndings, ADestinationThatIsLostAfterTheDrainBringsTheOldReplicasBack) {
  Stage stage{2};
  stage.ends = false;
  ASSERT_TRUE(stage.play_until(MoveState::removing));
  stage.flags.to.there = false;
  stage.ends = true;

  stage.play(seconds{3});

  EXPECT_EQ(stage.taking(false), 2);
}

TEST(MoveEndings, WhileTheOldPlaceIsLostAllThatIsReadyAtTheNewOneServes) {
  for (const MoveState state : {MoveState::starting, MoveState::warming, MoveState::shifting}) {
    Stage stage{3};
    ASSERT_TRUE(stage.play_until(state));
    stage.flags.from.there = false;

    stage.play(seconds{2});

    EXPECT_EQ(stage.taking(true), 3) << name(state);
    stage.flags.from.there = true;
    ASSERT_TRUE(stage.play_until(MoveState::done)) << name(state);
    EXPECT_EQ(stage.count(false), 0);
  }
}

TEST(MoveEndings, AnOldPlaceThatStaysLostIsAnAlarmUntilItIsBack) {
  Stage stage{2};
  ASSERT_TRUE(stage.play_until(MoveState::warming));
  stage.flags.from.there = false;

  ASSERT_TRUE(stage.play_until(MoveState::stuck));
  EXPECT_EQ(stage.move.record().why, "fast is lost");
  EXPECT_EQ(stage.taking(true), 2);

  stage.flags.from.there = true;
  EXPECT_TRUE(stage.play_until(MoveState::done));
  EXPECT_TRUE(stage.move.record().why.empty());
}

TEST(MoveEndings, AReplicaThatDoesNotEndIsAnAlarmAndItsRoomIsNotHandedOut) {
  Stage stage{2, 0, {.held_for = ServiceId{7}}};
  stage.ends = false;
  ASSERT_TRUE(stage.play_until(MoveState::stuck));

  EXPECT_EQ(stage.move.record().why, "2 replicas at fast did not end");
  EXPECT_EQ(stage.freed, 0);
  EXPECT_EQ(stage.taking(true), 2);

  stage.ends = true;
  ASSERT_TRUE(stage.play_until(MoveState::done));
  EXPECT_EQ(stage.freed, 2);
}

TEST(MoveEndings, ANewReplicaThatDoesNotEndIsAnAlarmAndTheOldOnesServe) {
  Stage stage{2};
  stage.fails_to = true;
  stage.ends = false;
  ASSERT_TRUE(stage.play_until(MoveState::aborting));

  while (stage.state() == MoveState::aborting) stage.play(seconds{1});
  EXPECT_EQ(stage.state(), MoveState::stuck);
  EXPECT_EQ(stage.taking(false), 2);

  stage.ends = true;
  ASSERT_TRUE(stage.play_until(MoveState::aborted));
  expect_as_before(stage, 2);
}

TEST(MoveEndings, OldReplicasStayUntilTheyCanServeAllThatTheNewOnesServed) {
  Stage stage{3};
  stage.rate = 1;
  ASSERT_TRUE(stage.play_until(MoveState::shifting));
  stage.play(seconds{5});
  stage.crash(false);  // the platform starts them again
  stage.flags.to.there = true;
  stage.play(Stage::kTick);

  EXPECT_EQ(stage.taking(true), 3);
  EXPECT_TRUE(stage.play_until(MoveState::done));
}

}  // namespace
}  // namespace sluice::placement
