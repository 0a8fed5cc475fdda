// The course of a move whose destination is fine.

#include "autoscaler/placement/core/move.h"

#include "tests/unit/autoscaler/placement/core/stage.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

namespace sluice::placement {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

TEST(Move, StartsWarmsListsDrainsAndRemoves) {
  Stage stage{3};

  ASSERT_TRUE(stage.play_until(MoveState::done));

  EXPECT_EQ(stage.states(), "reserved starting warming shifting draining removing done");
  EXPECT_EQ(stage.count(false), 0);
  EXPECT_EQ(stage.count(true), 3);
  EXPECT_EQ(line(stage.move.record()),
            "shop  3 replicas fast -> slow: started 3 (1.5 s), listed 1, 2, 3, drained 3 (0.3 s); "
            "0 requests cut");
}

TEST(Move, OneReplicaGetsHalfTheRequestsThenAll) {
  Stage stage{1};
  ASSERT_TRUE(stage.play_until(MoveState::shifting));

  EXPECT_EQ(stage.taking(false), 1);
  EXPECT_EQ(stage.taking(true), 1);

  bool all = false;
  while (stage.state() == MoveState::shifting) {
    stage.play(Stage::kTick);
    all = all || (stage.taking(false) == 0 && stage.taking(true) == 1);
    EXPECT_TRUE(stage.orders().stop.empty() || stage.state() != MoveState::shifting);
  }

  EXPECT_TRUE(all);
  ASSERT_TRUE(stage.play_until(MoveState::done));
  EXPECT_EQ(drain_line(stage.move.record()),
            "fast  shop 1 -> slow: started 1 (1.5 s), listed 1, drained 1 (0.2 s)");
}

TEST(Move, ManyReplicasAreListedInFourSteps) {
  Stage stage{8};

  ASSERT_TRUE(stage.play_until(MoveState::done));

  EXPECT_EQ(stage.move.record().listed, (std::vector<std::int32_t>{2, 4, 6, 8}));
}

TEST(Move, NoReplicaIsStartedBeforeTheLedgerHoldsItsRoom) {
  Stage stage{2};
  stage.play(Stage::kTick);

  EXPECT_EQ(stage.state(), MoveState::reserved);
  EXPECT_EQ(stage.orders().reserve, 2);
  EXPECT_EQ(stage.orders().to, 0);

  stage.play(Stage::kTick);

  EXPECT_EQ(stage.orders().to, 2);
}

TEST(Move, NewReplicasTakeNoRequestBeforeAllAreReadyForTwoSeconds) {
  Stage stage{2};
  ASSERT_TRUE(stage.play_until(MoveState::warming));
  TimePoint ready{};

  while (stage.state() == MoveState::warming) {
    EXPECT_EQ(stage.taking(true), 0);
    EXPECT_EQ(stage.taking(false), 2);
    const bool all = std::all_of(stage.pods.begin(), stage.pods.end(),
                                 [](const auto& pod) { return pod.seen.ready; });
    if (all && stage.count(true) == 2 && ready == TimePoint{}) ready = stage.now;
    stage.play(Stage::kTick);
  }

  EXPECT_GE(stage.now - ready, kStableReady);
}

TEST(Move, AnOldReplicaIsAvoidedOnlyWhenItsStepHasHeld) {
  Stage stage{4};
  stage.rate = 1;  // so that a step takes its whole hold
  ASSERT_TRUE(stage.play_until(MoveState::shifting));
  const TimePoint began = stage.now;

  stage.play(kShiftHold - Stage::kTick);
  EXPECT_EQ(stage.taking(false), 4);
  EXPECT_EQ(stage.taking(true), 1);

  stage.play(seconds{10} - (stage.now - began));
  EXPECT_LT(stage.taking(false), 4);
  EXPECT_GE(stage.taking(false) + stage.taking(true), 4);
}

TEST(Move, TwentyRequestsAtTheNewPlaceDecideAStepEarly) {
  Stage stage{2};
  stage.rate = 400;
  ASSERT_TRUE(stage.play_until(MoveState::shifting));
  const TimePoint began = stage.now;

  ASSERT_TRUE(stage.play_until(MoveState::draining));

  EXPECT_LT(stage.now - began, kShiftHold);
}

TEST(Move, WithoutTrafficNoStepIsHeld) {
  Stage stage{8};
  stage.rate = 0;
  ASSERT_TRUE(stage.play_until(MoveState::warming));

  while (stage.state() == MoveState::warming) stage.play(Stage::kTick);

  EXPECT_EQ(stage.state(), MoveState::draining);
  EXPECT_EQ(stage.move.record().listed.back(), 8);
}

TEST(Move, AReplicaIsStoppedOnlyWhenEveryFrontDoorAvoidsIt) {
  Stage stage{2};
  stage.acknowledges = false;
  ASSERT_TRUE(stage.play_until(MoveState::draining));

  stage.play(minutes{5});
  EXPECT_EQ(stage.state(), MoveState::draining);
  EXPECT_TRUE(stage.orders().stop.empty());

  stage.acknowledges = true;
  EXPECT_TRUE(stage.play_until(MoveState::done));
}

TEST(Move, AReplicaIsStoppedOnlyAfterItsLastRequest) {
  Stage stage{2};
  stage.hold_requests(false, 3);
  ASSERT_TRUE(stage.play_until(MoveState::draining));

  stage.play(minutes{1});
  EXPECT_TRUE(stage.orders().stop.empty());

  stage.hold_requests(false, 0);
  EXPECT_TRUE(stage.play_until(MoveState::done));
}

// A request that moves nothing has the service's longest request time.
TEST(Move, AStreamThatMovesNothingIsWaitedForAsLongAsARequest) {
  Stage stage{1, 0, {.drain = {.request_max = minutes{1}, .drain_max = minutes{8}}}};
  stage.hold_requests(false, 1);
  ASSERT_TRUE(stage.play_until(MoveState::draining));
  const TimePoint began = stage.now;

  ASSERT_TRUE(stage.play_until(MoveState::removing));

  EXPECT_GE(stage.now - began, minutes{1});
  EXPECT_LE(stage.now - began, minutes{1} + seconds{1});
  EXPECT_EQ(stage.orders().overdue.size(), 1U);
}

// A websocket that has been open for hours.
TEST(Move, AStreamThatMovesBytesIsWaitedForUntilDrainMax) {
  Stage stage{1, 0, {.drain = {.request_max = minutes{1}, .drain_max = minutes{8}}}};
  stage.hold_requests(false, 1);
  ASSERT_TRUE(stage.play_until(MoveState::draining));
  const TimePoint began = stage.now;

  while (stage.state() == MoveState::draining) {
    for (auto& pod : stage.pods) ++pod.seen.progress;
    stage.play(Stage::kTick);
  }

  EXPECT_GE(stage.now - began, minutes{8});
  EXPECT_LE(stage.now - began, minutes{8} + seconds{1});
}

TEST(Move, TheRoomThatBecomesFreeIsHeldForTheDemandForAMinute) {
  Stage stage{3, 0, {.cause = MoveCause::full, .held_for = ServiceId{7}}};

  ASSERT_TRUE(stage.play_until(MoveState::done));

  EXPECT_EQ(stage.freed, 3);
  EXPECT_EQ(stage.orders().held_for, ServiceId{7});
  EXPECT_EQ(stage.orders().held_until, stage.now + seconds{60});
}

TEST(Move, AServiceWithoutReplicasMovesInOneStep) {
  Stage stage{0};

  stage.play(Stage::kTick);

  EXPECT_EQ(stage.state(), MoveState::done);
  EXPECT_EQ(line(stage.move.record()), "shop  sleeps: its next start is at slow");
}

TEST(Move, SomeReplicasGoAndTheOthersStay) {
  Stage stage{4, 1, {.replicas = 2}};

  ASSERT_TRUE(stage.play_until(MoveState::done));

  EXPECT_EQ(stage.count(false), 2);
  EXPECT_EQ(stage.count(true), 3);
  EXPECT_EQ(stage.orders().from, 2);
  EXPECT_EQ(stage.orders().to, 3);
}

TEST(Move, ReplicasAtTheDestinationServeThroughout) {
  Stage stage{2, 2};

  while (stage.state() != MoveState::done) {
    stage.play(Stage::kTick);
    EXPECT_GE(stage.taking(false) + stage.taking(true), 4);
    EXPECT_GE(stage.taking(true), 2);
  }

  EXPECT_EQ(stage.count(true), 4);
}

TEST(Move, ABurstInWarmingRaisesBothPlaces) {
  Stage stage{2};
  ASSERT_TRUE(stage.play_until(MoveState::warming));
  stage.flags.wanted = 5;

  stage.play(Stage::kTick);

  EXPECT_EQ(stage.orders().from, 5);
  EXPECT_EQ(stage.orders().to, 5);
  ASSERT_TRUE(stage.play_until(MoveState::done));
  EXPECT_EQ(stage.count(false), 0);
  EXPECT_EQ(stage.count(true), 5);
}

TEST(Move, ABurstThatTheOldPlaceHasNoRoomForIsServedByReadyNewReplicas) {
  Stage stage{2};
  stage.flags.from.most = 2;
  ASSERT_TRUE(stage.play_until(MoveState::warming));
  stage.play(seconds{2});
  stage.flags.wanted = 4;

  stage.play(Stage::kTick);

  EXPECT_EQ(stage.orders().from, 2);
  EXPECT_EQ(stage.orders().to, 4);
  EXPECT_EQ(stage.taking(false), 2);
  EXPECT_EQ(stage.taking(true), 2);
  EXPECT_TRUE(stage.play_until(MoveState::done));
}

TEST(Move, AFallInTheShiftLowersBothPlaces) {
  Stage stage{6};
  stage.rate = 1;
  ASSERT_TRUE(stage.play_until(MoveState::shifting));
  stage.flags.wanted = 2;

  stage.play(Stage::kTick);

  EXPECT_EQ(stage.orders().to, 2);
  EXPECT_EQ(stage.orders().from, 2);
  ASSERT_TRUE(stage.play_until(MoveState::done));
  EXPECT_EQ(stage.count(true), 2);
}

TEST(Move, AServiceThatFallsToZeroInTheShiftIsRemovedFromBothPlaces) {
  Stage stage{3};
  stage.rate = 1;
  ASSERT_TRUE(stage.play_until(MoveState::shifting));
  stage.flags.wanted = 0;
  stage.rate = 0;

  ASSERT_TRUE(stage.play_until(MoveState::done));

  EXPECT_EQ(stage.count(false), 0);
  EXPECT_EQ(stage.orders().to, 0);
  EXPECT_EQ(stage.orders().from, 0);
}

TEST(Move, ReplicasThatAreMissingAtTheNewPlaceKeepOldOnesInService) {
  Stage stage{2};
  stage.acknowledges = false;
  ASSERT_TRUE(stage.play_until(MoveState::draining));
  EXPECT_EQ(stage.taking(false), 0);
  stage.crash(true);

  stage.play(Stage::kTick);

  EXPECT_EQ(stage.taking(false), 2);
  stage.acknowledges = true;
  ASSERT_TRUE(stage.play_until(MoveState::done));
  EXPECT_EQ(stage.count(true), 2);
}

TEST(Move, AClockThatStepsBackEndsNoWaitEarly) {
  Stage stage{1};
  stage.starts = false;
  ASSERT_TRUE(stage.play_until(MoveState::warming));
  stage.play(seconds{100});
  stage.now -= hours{1};

  stage.play(seconds{19});
  EXPECT_EQ(stage.state(), MoveState::warming);

  stage.play(seconds{2});
  EXPECT_NE(stage.state(), MoveState::warming);  // and its limit of two minutes is not prolonged
}

TEST(Move, AChangedTemplateWaitsForTheEndOfTheShift) {
  Stage stage{2};
  ASSERT_TRUE(stage.play_until(MoveState::shifting));
  stage.flags.changed = true;

  stage.play(Stage::kTick);

  EXPECT_TRUE(stage.play_until(MoveState::done));
}

TEST(Move, NothingIsStoppedWhileRemovalsAreFrozen) {
  Stage stage{2};
  ASSERT_TRUE(stage.play_until(MoveState::draining));
  stage.flags.frozen = true;

  stage.play(minutes{5});
  EXPECT_TRUE(stage.orders().stop.empty());

  stage.flags.frozen = false;
  EXPECT_TRUE(stage.play_until(MoveState::done));
}

TEST(Move, AMoveOutIsNotBegunWhileRemovalsAreFrozen) {
  Stage stage{2};
  stage.flags.frozen = true;

  stage.play(minutes{5});

  EXPECT_EQ(stage.state(), MoveState::planned);
  EXPECT_EQ(stage.orders().reserve, 0);
}

TEST(Move, AnImageThatIsLoadedIsWaitedForWithoutALimit) {
  Stage stage{1};
  stage.starts = false;
  stage.flags.pulling = true;

  stage.play(minutes{40});
  EXPECT_EQ(stage.state(), MoveState::warming);

  stage.flags.pulling = false;
  stage.starts = true;
  EXPECT_TRUE(stage.play_until(MoveState::done));
}

TEST(Move, RequestsThatTheMoveCutsAreCounted) {
  Stage stage{1};
  ASSERT_TRUE(stage.play_until(MoveState::draining));
  stage.flags.from.tally.cut += 2;

  ASSERT_TRUE(stage.play_until(MoveState::done));

  const std::string text = line(stage.move.record());
  EXPECT_NE(text.find("; 2 requests cut"), std::string::npos) << text;
}

}  // namespace
}  // namespace sluice::placement
