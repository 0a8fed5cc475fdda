#include "platform/process/start_pace.h"

#include <gtest/gtest.h>

namespace sluice::local {
namespace {

using namespace std::chrono_literals;

constexpr TimePoint kBegin{1000s};

TEST(StartPace, AFewStartAtATimeAndThoseThatAreReadyMakeRoom) {
  StartPace pace{2};
  EXPECT_EQ(pace.room("c", kBegin), 2);
  pace.started("a-1", kBegin);
  pace.started("b-1", kBegin);
  EXPECT_EQ(pace.room("c", kBegin), 0);
  pace.settled("a-1");
  EXPECT_EQ(pace.room("c", kBegin), 1);
}

TEST(StartPace, AStartThatLastsHoldsUpNoOtherForLong) {
  StartPace pace{1};
  pace.started("slow-1", kBegin);
  pace.wait("next", false);
  EXPECT_EQ(pace.next(kBegin + StartPace::kCounts - 1ms), std::nullopt);
  EXPECT_EQ(pace.due(kBegin), kBegin + StartPace::kCounts);
  EXPECT_EQ(pace.next(*pace.due(kBegin)), "next");
}

// A start that has lasted longer than it counts makes no turn due: the next one is later.
TEST(StartPace, AStartThatLastsIsNotWaitedForAgain) {
  StartPace pace{1};
  const TimePoint later = kBegin + StartPace::kCounts;
  pace.started("slow-1", kBegin);
  pace.started("fresh-1", later);
  pace.wait("next", false);
  EXPECT_EQ(pace.next(later), std::nullopt);
  EXPECT_EQ(pace.due(later), later + StartPace::kCounts);
}

TEST(StartPace, TurnsComeInTheOrderOfTheLine) {
  StartPace pace{1};
  for (const char* revision : {"c", "a", "b", "a"}) pace.wait(revision, false);
  EXPECT_TRUE(pace.waits("a"));
  EXPECT_EQ(pace.next(kBegin), "c");
  EXPECT_EQ(pace.next(kBegin), "a");
  EXPECT_FALSE(pace.waits("a"));
  pace.leave("b");
  EXPECT_EQ(pace.next(kBegin), std::nullopt);
}

TEST(StartPace, APlaceIsForTheFirstInTheLineAndForNoneThatComesLater) {
  StartPace pace{2};
  pace.wait("a", false);
  pace.wait("b", false);
  EXPECT_EQ(pace.room("c", kBegin), 0);
  EXPECT_EQ(pace.room("b", kBegin), 0);
  EXPECT_EQ(pace.next(kBegin), "a");
  EXPECT_EQ(pace.room("a", kBegin), 2);
  pace.started("a-1", kBegin);
  EXPECT_EQ(pace.next(kBegin), "b");
  EXPECT_EQ(pace.room("a", kBegin), 1) << "none is left in the line";
  pace.wait("c", false);
  EXPECT_EQ(pace.room("a", kBegin), 0) << "its turn is over";
  EXPECT_EQ(pace.room("b", kBegin), 1);
}

TEST(StartPace, WhatARequestWaitsForIsFirstAndNeedsNoRoom) {
  StartPace pace{1};
  pace.started("x-1", kBegin);
  pace.wait("a", false);
  pace.wait("b", false);
  pace.wait("b", true);
  pace.wait("c", true);
  pace.wait("b", false);
  EXPECT_EQ(pace.next(kBegin), "b");
  EXPECT_EQ(pace.next(kBegin), "c");
  EXPECT_EQ(pace.next(kBegin), std::nullopt);
}

TEST(StartPace, NothingIsDueWhileNoneWaits) {
  StartPace pace{1};
  EXPECT_EQ(pace.due(kBegin), std::nullopt);
  pace.started("a-1", kBegin);
  EXPECT_EQ(pace.due(kBegin), std::nullopt);
  pace.wait("b", false);
  pace.settled("a-1");
  EXPECT_EQ(pace.due(kBegin), std::nullopt) << "its turn is now";
  EXPECT_EQ(pace.next(kBegin), "b");
}

}  // namespace
}  // namespace sluice::local
