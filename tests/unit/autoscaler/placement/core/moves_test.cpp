#include "autoscaler/placement/core/moves.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace sluice::placement {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

constexpr PlaceId kFast{0};
constexpr PlaceId kSlow{1};
constexpr TimePoint kStart{std::chrono::hours{480'000}};

Moves::Wish wish(std::uint32_t service, MoveCause cause, std::optional<ServiceId> held_for = {}) {
  return {.service = ServiceId{service},
          .from = kFast,
          .to = kSlow,
          .spec = {.service = "app-" + std::to_string(service),
                   .from = "fast",
                   .to = "slow",
                   .cause = cause,
                   .held_for = held_for}};
}

// One replica at fast, and nothing else.
MoveView alone() {
  MoveView view;
  view.from.replicas.push_back({.id = {"app-1-1"}, .ready = true, .reached = true});
  view.wanted = 1;
  return view;
}

// Steps of a move until it is over, which it is because its template changed or its replica failed.
void give_up(Moves& moves, MoveId id, bool at_the_destination, TimePoint now) {
  MoveView view = alone();
  view.reserved = 1;
  static_cast<void>(moves.step(id, view, now));
  if (at_the_destination) {
    view.to.replicas.push_back({.id = {"app-1-2"}, .failed = true});
    static_cast<void>(moves.step(id, view, now));
    view.to.replicas.clear();
  } else {
    view.changed = true;
  }
  for (int i = 0; i < 3 && !moves.running().empty(); ++i) {
    static_cast<void>(moves.step(id, view, now));
  }
  ASSERT_TRUE(moves.running().empty());
}

void finish(Moves& moves, MoveId id, TimePoint now) {
  MoveView gone;
  gone.wanted = 1;
  static_cast<void>(moves.step(id, gone, now));
}

TEST(Moves, TwoDemandsWithOneVictimGetItOnce) {
  Moves moves{{}};
  ASSERT_TRUE(moves.add(wish(1, MoveCause::full, ServiceId{8}), kStart).has_value());

  EXPECT_FALSE(moves.add(wish(1, MoveCause::full, ServiceId{9}), kStart).has_value());
  EXPECT_EQ(moves.refusal(wish(1, MoveCause::full, ServiceId{9}), kStart), "app-1 is being moved");
}

TEST(Moves, ADemandThatGrowsAddsMovesAndLeavesThoseThatRun) {
  Moves moves{{}};
  const auto first = moves.add(wish(1, MoveCause::full, ServiceId{8}), kStart);
  static_cast<void>(moves.begin_due(kStart));
  static_cast<void>(moves.step(*first, alone(), kStart));
  const MoveState before = moves.move(*first).state();

  ASSERT_TRUE(moves.add(wish(2, MoveCause::full, ServiceId{8}), kStart).has_value());

  EXPECT_EQ(moves.begin_due(kStart).size(), 1U);
  EXPECT_EQ(moves.running().size(), 2U);
  EXPECT_EQ(moves.move(*first).state(), before);
}

TEST(Moves, ASecondMoveByHandWaitsForTheFirst) {
  Moves moves{{}};
  const auto first = moves.add(wish(1, MoveCause::hand), kStart);
  const auto second = moves.add(wish(1, MoveCause::hand), kStart);
  ASSERT_TRUE(second.has_value());
  EXPECT_EQ(moves.begin_due(kStart), std::vector{*first});
  EXPECT_TRUE(moves.begin_due(kStart).empty());

  finish(moves, *first, kStart + seconds{9});
  const auto begun = moves.begin_due(kStart + seconds{9}, [](Moves::Wish& wish) {
    wish.from = kSlow;
    wish.spec.from = "slow";
  });

  EXPECT_TRUE(begun.empty());  // it is there already
  ASSERT_EQ(moves.records().size(), 2U);
  EXPECT_EQ(moves.records().front().id, *second);
  EXPECT_EQ(moves.records().front().state, MoveState::done);
  EXPECT_EQ(moves.records().front().replicas, 0);
}

TEST(Moves, AServiceThatWasMovedIsLeftAloneForTenMinutesButByHand) {
  Moves moves{{}};
  const auto id = moves.add(wish(1, MoveCause::full), kStart);
  static_cast<void>(moves.begin_due(kStart));
  finish(moves, *id, kStart);

  EXPECT_EQ(moves.cooling_until(ServiceId{1}, kStart), kStart + minutes{10});
  EXPECT_EQ(moves.refusal(wish(1, MoveCause::home), kStart + seconds{1}),
            "app-1 was moved, and may be again in 599 s");
  EXPECT_EQ(moves.refusal(wish(1, MoveCause::hand), kStart + seconds{1}), "");
  EXPECT_EQ(moves.refusal(wish(1, MoveCause::drain), kStart + seconds{1}), "");
  EXPECT_EQ(moves.refusal(wish(1, MoveCause::home), kStart + minutes{10}), "");
}

TEST(Moves, APlaceWhereAServiceFailedIsNotTriedForHalfAnHour) {
  Moves moves{{}};
  const auto id = moves.add(wish(1, MoveCause::full), kStart);
  static_cast<void>(moves.begin_due(kStart));
  give_up(moves, *id, true, kStart);

  EXPECT_EQ(moves.records().front().end, MoveEnd::start_failed);
  EXPECT_EQ(moves.cooling_until(ServiceId{1}, kSlow, kStart), kStart + minutes{30});
  EXPECT_NE(moves.refusal(wish(1, MoveCause::drain), kStart + minutes{29}), "");
  EXPECT_EQ(moves.refusal(wish(1, MoveCause::drain), kStart + minutes{30}), "");
  moves.forget(ServiceId{1});
  EXPECT_EQ(moves.refusal(wish(1, MoveCause::full), kStart), "");
}

TEST(Moves, WhatHasNotReservedItsRoomIsStillToStart) {
  Moves moves{{}};
  Moves::Wish large = wish(1, MoveCause::full);
  large.replicas = 3;
  const auto id = moves.add(large, kStart);
  const auto to_start = [&moves](std::int32_t reserved) {
    return moves.to_start([reserved](MoveId) { return reserved; });
  };
  EXPECT_EQ(to_start(0), 3);
  EXPECT_EQ(to_start(2), 1);

  static_cast<void>(moves.begin_due(kStart));
  EXPECT_EQ(to_start(0), 3);
  static_cast<void>(moves.step(*id, alone(), kStart));
  EXPECT_EQ(to_start(0), 0);
}

TEST(Moves, AMoveThatWasWithdrawnCoolsNothing) {
  Moves moves{{}};
  const auto id = moves.add(wish(1, MoveCause::full), kStart);
  static_cast<void>(moves.begin_due(kStart));
  give_up(moves, *id, false, kStart);

  EXPECT_EQ(moves.records().front().end, MoveEnd::withdrawn);
  EXPECT_EQ(moves.refusal(wish(1, MoveCause::full), kStart), "");
}

TEST(Moves, TenMovesIntoAPlaceLoadImagesAtATime) {
  Moves moves{{}};
  for (std::uint32_t service = 0; service < 12; ++service) {
    Moves::Wish loading = wish(service, MoveCause::full);
    loading.loads = true;
    ASSERT_TRUE(moves.add(loading, kStart).has_value());
  }
  ASSERT_TRUE(moves.add(wish(99, MoveCause::full), kStart).has_value());

  EXPECT_EQ(moves.begin_due(kStart).size(), 11U);  // and the one that loads nothing
  finish(moves, moves.running().front(), kStart);
  EXPECT_EQ(moves.begin_due(kStart).size(), 1U);
}

TEST(Moves, ADemandThatGoesEndsItsMovesThatHaveNotShifted) {
  Moves moves{{.running_max = 1}};
  const auto first = moves.add(wish(1, MoveCause::full, ServiceId{8}), kStart);
  ASSERT_TRUE(moves.add(wish(2, MoveCause::full, ServiceId{8}), kStart).has_value());
  static_cast<void>(moves.begin_due(kStart));
  static_cast<void>(moves.step(*first, alone(), kStart));

  moves.withdraw(ServiceId{8});

  static_cast<void>(moves.step(*first, alone(), kStart));
  EXPECT_TRUE(moves.running().empty());
  EXPECT_TRUE(moves.begin_due(kStart).empty());
  EXPECT_EQ(moves.records().front().end, MoveEnd::withdrawn);
}

// A policy decides which moves are added; those that run are not asked about again.
TEST(Moves, MovesThatRunKeepTheirDestinationWhateverIsPlannedNext) {
  Moves moves{{}};
  const auto id = moves.add(wish(1, MoveCause::full), kStart);
  static_cast<void>(moves.begin_due(kStart));
  Moves::Wish other = wish(1, MoveCause::full);
  other.to = PlaceId{2};

  EXPECT_FALSE(moves.add(other, kStart).has_value());

  EXPECT_EQ(moves.wish(*id).to, kSlow);
  EXPECT_EQ(moves.find(ServiceId{1})->record().to, "slow");
}

TEST(Moves, AServiceIsNotMovedToWhereItIs) {
  Moves moves{{}};
  Moves::Wish same = wish(1, MoveCause::hand);
  same.to = kFast;

  EXPECT_FALSE(moves.add(same, kStart).has_value());
}

TEST(Moves, ADrainMovesTenReplicasAtATimeUnlessOneServiceHasMore) {
  Moves moves{{}};
  for (std::uint32_t service = 1; service <= 5; ++service) {
    Moves::Wish drained = wish(service, MoveCause::drain);
    drained.replicas = service == 3 ? 25 : 4;
    ASSERT_TRUE(moves.add(drained, kStart).has_value());
  }

  std::string batches;
  while (!moves.begin_due(kStart).empty()) {
    batches += std::to_string(moves.leaving(kFast)) + ' ';
    for (const MoveId id : moves.running()) finish(moves, id, kStart);
  }

  EXPECT_EQ(batches, "8 25 8 ");
}

TEST(Moves, RecordsOfTheLastMovesAreKept) {
  Moves moves{{}};
  for (std::uint32_t i = 0; i < Moves::kRecordsMax + 5; ++i) {
    const auto id = moves.add(wish(i, MoveCause::full), kStart);
    static_cast<void>(moves.begin_due(kStart));
    finish(moves, *id, kStart);
  }

  EXPECT_EQ(moves.records().size(), Moves::kRecordsMax);
  EXPECT_EQ(static_cast<std::uint32_t>(moves.records().front().id), Moves::kRecordsMax + 5);
}

}  // namespace
}  // namespace sluice::placement
