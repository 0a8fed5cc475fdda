// Goal: what a person, a drain, a demand and the way home begin is carried to its end between the
// fleet, the ledger and the platform, and nothing is begun that cannot end well.
// Method: the fleet and the mover in virtual time over a platform that does as it is ordered.

#include "tests/unit/autoscaler/placement/io/mover_stage.h"

namespace sluice::autoscaler {
namespace {

using namespace std::chrono_literals;

using placement::MoveState;

class TwoGroups : public MoverTest {
 protected:
  TwoGroups() {
    groups_.add("fast", 0, 4);
    groups_.add("slow", 1, 20);
  }
};

class ThreeGroups : public MoverTest {
 protected:
  ThreeGroups() {
    groups_.add("a", 0, 2);
    groups_.add("b", 1, 2);
    groups_.add("c", 2, 3);
  }
};

// --- by hand ---

TEST_F(TwoGroups, AMoveByHandBringsAllReplicasToThePlace) {
  run("shop", {.replicas = 3});
  ASSERT_EQ(where("shop"), "fast 3");

  EXPECT_EQ(move("shop", "slow"), "");
  ASSERT_TRUE(until_idle());
  play(1s);

  EXPECT_EQ(where("shop"), "slow 3");
  EXPECT_EQ(moves(), "shop 3 fast->slow done");
  EXPECT_EQ(placement_.ledger().problem(), "");
}

TEST_F(TwoGroups, AServiceThatSleepsWakesWhereItWasMovedTo) {
  add("shop", {.replicas = 0});
  play(1s);

  const auto begun = mover_.move(std::vector{id("shop")}, "slow");
  ASSERT_TRUE(begun);
  EXPECT_TRUE(begun->asleep);
  want("shop", 1);
  play(3s);

  EXPECT_EQ(where("shop"), "slow 1");
  EXPECT_EQ(moves(), "");
}

TEST_F(TwoGroups, AMoveIsRefusedWithWhatIsMissing) {
  run("shop", {.replicas = 5});
  run("only", {.replicas = 1, .clusters = {"slow"}});

  EXPECT_EQ(move("shop", "moon"), "there is no place moon");
  EXPECT_EQ(move("pay", "slow"), "pay-00001 does not run");
  EXPECT_EQ(move("only", "fast"), "only may not run in fast");
  EXPECT_EQ(mover_.drain("slow"), std::nullopt);
  EXPECT_EQ(move("shop", "slow"), "slow is being drained");
}

TEST_F(ThreeGroups, RoomForWhatComesFromSeveralPlacesIsNeededInAll) {
  run("shop", {.replicas = 4});
  ASSERT_EQ(where("shop"), "a 2, b 2");

  EXPECT_EQ(move("shop", "c"), "c has room for 3 replicas; shop has 4 replicas to move");
  play(5s);

  EXPECT_EQ(moves(), "");
  EXPECT_EQ(where("shop"), "a 2, b 2");
}

TEST_F(TwoGroups, AMoveNeedsAsManyStartsAsItHasReplicas) {
  run("shop", {.replicas = 2});
  groups_.max_replicas = 3;

  EXPECT_EQ(move("shop", "slow"),
            "max-replicas 3 leaves 1 replica to start, and a move of 2 replicas starts as many "
            "before they go");
  EXPECT_EQ(moves(), "");
  groups_.max_replicas = 4;
  EXPECT_EQ(move("shop", "slow"), "");
  ASSERT_TRUE(until_idle());

  EXPECT_EQ(moves(), "shop 2 fast->slow done");
}

TEST_F(TwoGroups, StartsThatAreTakenMeanwhileEndAMoveAndPauseNothing) {
  placement::Rules rules;
  rules.moves.running_max = 1;
  mover_.set_rules(rules);
  run("shop", {.replicas = 1});
  run("pay", {.replicas = 2});
  groups_.max_replicas = 6;
  ASSERT_EQ(move("shop", "slow"), "");
  ASSERT_EQ(move("pay", "slow"), "");

  groups_.max_replicas = 4;
  ASSERT_TRUE(until_idle());
  EXPECT_EQ(moves(),
            "shop 1 fast->slow done, pay 2 fast->slow aborted: max-replicas 4 leaves 1 replica to "
            "start, and a move of 2 replicas starts as many before they go");
  groups_.max_replicas = 6;
  EXPECT_EQ(mover_.drain("fast"), std::nullopt);
  ASSERT_TRUE(until_idle());
  play(1s);

  EXPECT_EQ(where("pay"), "slow 2");
}

TEST_F(TwoGroups, AllRevisionsThatShareTheRequestsAreMovedTogetherOrNone) {
  run("shop", {.replicas = 2});
  run("shop", {.replicas = 1, .number = 2, .called = "shop-00002"});
  run("crowd", {.replicas = 18, .clusters = {"slow"}});
  const std::vector both{id("shop"), id("shop", 2)};

  EXPECT_EQ(move(both, "slow"), "slow has room for 2 replicas; shop has 3 replicas to move");
  EXPECT_EQ(moves(), "");
  want("crowd", 17);
  play(5s);
  EXPECT_EQ(move(both, "slow"), "");
  ASSERT_TRUE(until_idle());
  play(1s);

  EXPECT_EQ(where("shop"), "slow 2");
  EXPECT_EQ(where("shop", 2), "slow 1");
}

// --- another template ---

TEST_F(TwoGroups, ASuccessorThatComesBeforeTheShiftEndsTheMove) {
  run("shop", {.replicas = 2});
  ASSERT_EQ(move("shop", "slow"), "");
  ASSERT_TRUE(until_state(MoveState::warming));
  EXPECT_FALSE(machine_.services.at(id("shop")).order.shifting);

  add("shop", {.number = 2, .in_service = false});
  ASSERT_TRUE(until_idle());
  play(1s);

  EXPECT_EQ(moves(), "shop 2 fast->slow aborted: shop was changed");
  EXPECT_EQ(where("shop"), "fast 2");
}

TEST_F(TwoGroups, ASuccessorThatComesInTheShiftIsHeldBackUntilTheMoveIsOver) {
  run("shop", {.replicas = 2});
  in_flight_["shop-00001-1"] = 1;
  ASSERT_EQ(move("shop", "slow"), "");
  ASSERT_TRUE(until_state(MoveState::shifting));
  const ScaleOrder& order = machine_.services.at(id("shop")).order;
  EXPECT_TRUE(order.shifting);
  EXPECT_EQ(order.replicas - order.beside, 2);

  add("shop", {.number = 2, .in_service = false});
  ASSERT_TRUE(until_state(MoveState::draining));
  EXPECT_TRUE(order.shifting);
  in_flight_.clear();
  ASSERT_TRUE(until_idle());

  EXPECT_FALSE(order.shifting);
  EXPECT_EQ(order.beside, 0);
  EXPECT_EQ(moves(), "shop 2 fast->slow done");
}

TEST_F(TwoGroups, ARevisionThatIsAboutToBeReplacedIsNotMovedAndADrainWaitsForThat) {
  run("shop", {.replicas = 1});
  run("shop", {.number = 2, .in_service = false});

  EXPECT_EQ(move("shop", "slow"),
            "shop is not moved now: another revision is about to take the place of shop-00001");
  EXPECT_EQ(mover_.drain("fast"), std::nullopt);
  play(30s);
  EXPECT_EQ(where("shop"), "fast 1");
  EXPECT_EQ(drain_of("fast"), "empties");
  EXPECT_EQ(moves(), "shop 1 fast->slow done");  // of the other one
  EXPECT_EQ(where("shop", 2), "slow 1");
}

// --- streams ---

class Streams : public TwoGroups {
 protected:
  // For how long the old replica is waited for, which has one request.
  Duration drained(bool moves_bytes) {
    run("shop", {.replicas = 1});
    in_flight_["shop-00001-1"] = 1;
    EXPECT_EQ(move("shop", "slow"), "");
    EXPECT_TRUE(until_state(MoveState::draining));
    const TimePoint began = clock_.now();
    EXPECT_TRUE(until([&] {
      moved_["shop-00001-1"] += moves_bytes ? 1 : 0;
      const auto& remove = machine_.services.at(id("shop")).order.remove;
      overdue_ = machine_.services.at(id("shop")).order.overdue;
      return !remove.empty();
    }));
    return clock_.now() - began;
  }

  std::vector<PodId> overdue_;
};

TEST_F(Streams, ARequestThatMovesNothingHasTheTimeOfARequest) {
  const Duration took = drained(false);

  EXPECT_GE(took, 29s);
  EXPECT_LE(took, 31s);
  EXPECT_EQ(overdue_, (std::vector<PodId>{{"shop-00001-1"}}));
}

TEST_F(Streams, AStreamThatMovesBytesHasTenMinutes) {
  const Duration took = drained(true);

  EXPECT_GE(took, 10min - 1s);
  EXPECT_LE(took, 10min + 1s);
}

// --- drains ---

TEST_F(TwoGroups, ADrainEmptiesAPlaceAndListsWhatStays) {
  run("only", {.replicas = 1, .clusters = {"fast"}});
  run("shop", {.replicas = 2});

  EXPECT_EQ(mover_.drain("fast"), std::nullopt);
  ASSERT_TRUE(until([this] { return drain_of("fast") != "empties"; }));

  EXPECT_EQ(drain_of("fast"), "stays only: no other place matches");
  EXPECT_EQ(where("shop"), "slow 2");
  EXPECT_EQ(mover_.drain_of("fast")->services, 1);
  EXPECT_EQ(mover_.drain_of("fast")->replicas, 2);
  EXPECT_EQ(mover_.drain("moon")->what, "there is no place moon");
}

TEST_F(ThreeGroups, WhatStayedLeavesWhenRoomAppears) {
  run("shop", {.replicas = 1, .clusters = {"a", "b"}});
  run("crowd", {.replicas = 2, .clusters = {"b"}});
  EXPECT_EQ(mover_.drain("a"), std::nullopt);
  ASSERT_TRUE(until([this] { return drain_of("a") != "empties"; }));
  ASSERT_EQ(drain_of("a"), "stays shop: b is full: 2 of 2 replicas");
  const std::size_t told = place_news_.size();
  play(1min);
  EXPECT_EQ(place_news_.size(), told);

  remove("crowd");
  ASSERT_TRUE(until([this] { return drain_of("a") == "empties"; }));
  ASSERT_TRUE(until([this] { return drain_of("a") != "empties"; }));

  EXPECT_EQ(drain_of("a"), "empty");
  EXPECT_EQ(where("shop"), "b 1");
  EXPECT_EQ(place_news_.size(), told + 2);
}

TEST_F(TwoGroups, WhatCouldNotBeMovedIsTriedAgainWhenThePauseIsOver) {
  run("shop", {.replicas = 1});
  machine_.broken.insert("slow");
  EXPECT_EQ(mover_.drain("fast"), std::nullopt);
  ASSERT_TRUE(until([this] { return drain_of("fast") != "empties"; }));
  EXPECT_EQ(drain_of("fast"),
            "stays shop: it could not be moved to slow, which is tried again in 1800 s");
  machine_.broken.clear();

  play(29min);
  EXPECT_EQ(where("shop"), "fast 1");
  play(2min);

  EXPECT_EQ(where("shop"), "slow 1");
  EXPECT_EQ(drain_of("fast"), "empty");
}

TEST_F(TwoGroups, ADrainWaitsUntilAsManyReplicasMayStartAsAMoveHas) {
  run("shop", {.replicas = 2});
  groups_.max_replicas = 3;
  EXPECT_EQ(mover_.drain("fast"), std::nullopt);
  ASSERT_TRUE(until([this] { return drain_of("fast") != "empties"; }));
  EXPECT_EQ(drain_of("fast"),
            "stays shop: max-replicas 3 leaves 1 replica to start, and a move of 2 replicas starts "
            "as many before they go");
  play(1min);
  EXPECT_EQ(moves(), "");

  groups_.max_replicas = 4;
  play(1min);

  EXPECT_EQ(moves(), "shop 2 fast->slow done");
  EXPECT_EQ(drain_of("fast"), "empty");
}

TEST_F(TwoGroups, APlaceThatIsOpenedAgainKeepsWhatHasNotBegunToLeave) {
  placement::Rules rules;
  rules.moves.drain_batch = 1;
  mover_.set_rules(rules);
  run("shop", {.replicas = 1});
  run("pay", {.replicas = 1});
  EXPECT_EQ(mover_.drain("fast"), std::nullopt);
  ASSERT_TRUE(until_state(MoveState::warming));

  EXPECT_EQ(mover_.undrain("fast"), std::nullopt);
  ASSERT_TRUE(until_idle());
  play(5s);

  EXPECT_EQ(where("shop"), "slow 1");
  EXPECT_EQ(where("pay"), "fast 1");
  EXPECT_EQ(drain_of("fast"), "open");
  EXPECT_FALSE(mover_.let_go("fast"));
}

// --- the end, plans, home ---

TEST_F(TwoGroups, TheEndOfTheProgramEndsAMoveAndNothingIsBegunAfterIt) {
  run("shop", {.replicas = 2});
  ASSERT_EQ(move("shop", "slow"), "");
  ASSERT_TRUE(until_state(MoveState::warming));

  mover_.stop();
  EXPECT_EQ(moves(), "shop 2 fast->slow aborted: the engine stops");
  EXPECT_EQ(mover_.drain("fast"), std::nullopt);
  play(5s);

  EXPECT_EQ(moves(), "shop 2 fast->slow aborted: the engine stops");
}

class FullFast : public TwoGroups {
 protected:
  // `old` has all of fast and may be moved.
  void fill(std::int32_t replicas) {
    run("old", {.replicas = replicas});
    run("rest", {.replicas = 4 - replicas, .clusters = {"fast"}});
    play(2min);
  }
};

TEST_F(FullFast, ADemandGetsTheRoomOfTheServiceThatIsMovedForIt) {
  fill(1);

  add("new", {.replicas = 1, .clusters = {"fast"}});
  EXPECT_TRUE(until([this] { return !mover_.room_made_for(id("new")).empty(); }));
  ASSERT_TRUE(until_idle());
  play(5s);

  EXPECT_EQ(moves(), "old 1 fast->slow done");
  EXPECT_EQ(where("old"), "slow 1");
  EXPECT_EQ(where("new"), "fast 1");
  EXPECT_EQ(mover_.room_made_for(id("new")), "");
}

TEST_F(FullFast, ADemandThatGoesEndsTheMoveThatWasMadeForIt) {
  fill(1);
  add("new", {.replicas = 1, .clusters = {"fast"}});
  ASSERT_TRUE(until_state(MoveState::warming));

  remove("new");
  ASSERT_TRUE(until_idle());
  play(1s);

  EXPECT_EQ(moves(), "old 1 fast->slow aborted: the room is not needed any more");
  EXPECT_EQ(where("old"), "fast 1");
  EXPECT_EQ(placement_.ledger().problem(), "");
}

TEST_F(FullFast, NoPlanStartsMoreReplicasThanMayBeStarted) {
  fill(2);
  groups_.max_replicas = 5;

  add("new", {.replicas = 1, .clusters = {"fast"}});
  play(1min);
  EXPECT_EQ(moves(), "");
  groups_.max_replicas = 7;
  play(1min);

  EXPECT_EQ(moves(), "old 2 fast->slow done");
  EXPECT_EQ(where("new"), "fast 1");
}

TEST_F(TwoGroups, AServiceComesHomeWhenItsRoomHasLastedForTenMinutes) {
  run("crowd", {.replicas = 4, .clusters = {"fast"}});
  run("shop", {.replicas = 2});
  ASSERT_EQ(where("shop"), "slow 2");
  play(2min);
  remove("crowd");

  play(9min);
  EXPECT_EQ(moves(), "");
  play(2min);

  EXPECT_EQ(moves(), "shop 2 slow->fast done");
  EXPECT_EQ(where("shop"), "fast 2");
}

TEST_F(TwoGroups, AServiceDoesNotComeHomeWithoutStartsToSpare) {
  run("crowd", {.replicas = 4, .clusters = {"fast"}});
  run("shop", {.replicas = 2});
  play(2min);
  remove("crowd");
  groups_.max_replicas = 3;

  play(12min);
  EXPECT_EQ(moves(), "");
  groups_.max_replicas = 4;
  play(11min);

  EXPECT_EQ(moves(), "shop 2 slow->fast done");
}

// --- all of it together ---

// Goal: whatever is asked for in whatever order, no group has more than its replicas, the sum stays
// within max-replicas, and a service never has fewer ready replicas than are wanted.
// Method: random commands at random times, checked after each step.
class AnyOrder : public MoverTest {
 protected:
  AnyOrder() {
    groups_.add("a", 0, 6);
    groups_.add("b", 1, 6);
    groups_.add("c", 2, 8);
    groups_.max_replicas = 11;
    for (const char* name : {"x", "y", "z"}) run(name, {.replicas = 2});
  }

  std::uint32_t any(std::uint32_t below) {
    return std::uniform_int_distribution<std::uint32_t>{0, below - 1}(dice_);
  }

  std::string any_of(std::string_view names) {
    return std::string{names[any(static_cast<std::uint32_t>(names.size()))]};
  }

  void ask_for_anything() {
    switch (any(4)) {
      case 0:
        (void)move(any_of("xyz"), any_of("abc"));
        break;
      case 1:
        (void)mover_.drain(any_of("abc"));
        break;
      case 2:
        (void)mover_.undrain(any_of("abc"));
        break;
      default:
        if (!machine_.broken.erase("b")) machine_.broken.insert("b");
        break;
    }
  }

  void check() {
    std::map<std::string, int> in_place;
    int all = 0;
    for (const auto& [id, service] : machine_.services) {
      int ready = 0;
      for (const model::Pod& pod : service.facts.pods) {
        ++in_place[pod.node];
        ++all;
        ready += pod.ready && !pod.terminating ? 1 : 0;
      }
      EXPECT_GE(ready, 2) << id.name;
    }
    EXPECT_LE(in_place["a"], 6);
    EXPECT_LE(in_place["b"], 6);
    EXPECT_LE(in_place["c"], 8);
    EXPECT_LE(all, 11);
    EXPECT_EQ(placement_.ledger().problem(), "");
  }

  std::mt19937 dice_;
};

TEST_F(AnyOrder, KeepsEveryBoundAndEveryReplicaThatIsWanted) {
  for (std::uint32_t seed = 0; seed < 10; ++seed) {
    SCOPED_TRACE(seed);
    dice_.seed(seed);
    for (int command = 0; command < 12 && !HasFailure(); ++command) {
      ask_for_anything();
      for (std::uint32_t steps = any(300); steps > 0 && !HasFailure(); --steps) {
        play(kStep);
        check();
      }
    }
  }
}

}  // namespace
}  // namespace sluice::autoscaler
