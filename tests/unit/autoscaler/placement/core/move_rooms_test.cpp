// The room of a move: kept at its destination before anything starts there, and what it frees for
// whom it was made.

#include "autoscaler/placement/core/move.h"
#include "autoscaler/placement/core/placement.h"
#include "tests/unit/autoscaler/placement/core/groups_site.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

namespace sluice::placement {
namespace {

using std::chrono::seconds;

const RevisionId kMoved{"default", "moved"};
const RevisionId kDemand{"default", "demand"};
const RevisionId kThird{"default", "third"};
constexpr MoveId kMove{7};

// fast has four replicas of the moved service and no room left; slow has room for three.
class MoveRooms : public ::testing::Test {
 protected:
  MoveRooms() {
    site_.add("fast", 0, {.cpu = kUnbounded, .memory = kUnbounded, .slots = 4});
    site_.add("slow", 1, {.cpu = kUnbounded, .memory = kUnbounded, .slots = 3});
    replicas_[kMoved].assign(4, {.node = "fast"});
    wishes_[kDemand] = {.clusters = {"fast"}};
    wishes_[kThird] = {.clusters = {"fast"}};
    (void)ask(kMoved, 4);
  }

  std::int32_t ask(const RevisionId& revision, std::int32_t wanted) {
    const Grant grant = placement_.ask(revision, {.wanted = wanted,
                                                  .wish = &wishes_[revision],
                                                  .replicas = replicas_[revision],
                                                  .now = now_});
    EXPECT_EQ(placement_.ledger().problem(), "");
    return grant.replicas;
  }

  std::int32_t reserve(std::int32_t replicas) {
    return placement_.reserve(kMove, id(kMoved), place("slow"), replicas, now_);
  }

  [[nodiscard]] ServiceId id(const RevisionId& revision) const {
    return placement_.find(revision)->id;
  }

  [[nodiscard]] PlaceId place(const std::string& name) const {
    return *placement_.ledger().find_place(name);
  }

  /// Replicas that still fit there.
  [[nodiscard]] std::int64_t left(const std::string& name) const {
    return placement_.ledger().totals(place(name)).free().slots;
  }

  /// One replica runs at slow and no longer at fast.
  void move_one() {
    replicas_[kMoved].back() = {.node = "slow"};
    (void)ask(kMoved, 4);
  }

  Groups site_;
  Placement placement_{site_};
  std::map<RevisionId, std::vector<ReplicaAt>> replicas_;
  std::map<RevisionId, model::PlacementWish> wishes_;
  TimePoint now_{seconds{1'000'000}};
};

TEST_F(MoveRooms, AreNotGivenToAnotherService) {
  EXPECT_EQ(reserve(2), 2);
  wishes_[kThird] = {.clusters = {"slow"}};

  EXPECT_EQ(ask(kThird, 3), 1);
}

TEST_F(MoveRooms, AreAsManyAsThePlaceHasRoomFor) {
  EXPECT_EQ(reserve(4), 3);
  EXPECT_EQ(placement_.reserved(kMove), 3);
}

TEST_F(MoveRooms, AreSetAndNotAddedByARepeatedCall) {
  (void)reserve(2);
  (void)reserve(2);
  EXPECT_EQ(left("slow"), 1);

  (void)reserve(0);
  EXPECT_EQ(left("slow"), 3);
}

TEST_F(MoveRooms, AreFreeAMinuteAfterTheLastCall) {
  (void)reserve(3);
  wishes_[kThird] = {.clusters = {"slow"}};
  now_ += Placement::kPromised - seconds{1};
  EXPECT_EQ(ask(kThird, 1), 0);

  now_ += seconds{1};

  EXPECT_EQ(ask(kThird, 1), 1);
}

TEST_F(MoveRooms, AreTakenByTheReplicasThatAppearThere) {
  (void)reserve(2);

  move_one();

  EXPECT_EQ(placement_.reserved(kMove), 1);
  EXPECT_EQ(left("slow"), 1);
}

TEST_F(MoveRooms, WhatIsFreedIsForTheDemandAloneThoughAnotherAsksFirst) {
  ASSERT_EQ(ask(kDemand, 1), 0);
  placement_.promise_freed(id(kMoved), place("fast"), id(kDemand));
  move_one();

  EXPECT_EQ(ask(kThird, 1), 0);
  EXPECT_EQ(ask(kDemand, 1), 1);
}

TEST_F(MoveRooms, WhatWasFreedAndIsNotTakenIsForAllAfterAMinute) {
  ASSERT_EQ(ask(kDemand, 1), 0);
  placement_.promise_freed(id(kMoved), place("fast"), id(kDemand));
  move_one();

  now_ += kHeldFor;

  EXPECT_EQ(ask(kThird, 1), 1);
}

TEST_F(MoveRooms, WithoutADemandWhatIsFreedIsForAll) {
  ASSERT_EQ(ask(kDemand, 1), 0);
  placement_.promise_freed(id(kMoved), place("fast"), id(kDemand));
  placement_.promise_freed(id(kMoved), place("fast"), std::nullopt);
  move_one();

  EXPECT_EQ(ask(kThird, 1), 1);
}

TEST_F(MoveRooms, TheFirstReplicaOfAServiceThatSleptGoesWhereItWasSentOnce) {
  replicas_[kMoved].clear();
  (void)ask(kMoved, 0);
  placement_.prefer(kMoved, place("slow"));
  EXPECT_EQ(placement_.first_place(kMoved), "slow");

  ASSERT_EQ(ask(kMoved, 1), 1);
  EXPECT_EQ(left("slow"), 2);

  replicas_[kMoved] = {{.node = "slow"}};
  (void)ask(kMoved, 1);
  EXPECT_EQ(placement_.first_place(kMoved), "");
}

}  // namespace
}  // namespace sluice::placement
