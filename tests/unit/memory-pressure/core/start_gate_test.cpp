#include "memory-pressure/core/start_gate.h"

#include <gtest/gtest.h>

#include "memory-pressure/core/policy.h"

namespace sluice::node_agent {
namespace {

TimePoint at(std::int64_t milliseconds) {
  return TimePoint{std::chrono::milliseconds{milliseconds}};
}

TEST(StartGate, NothingIsKnownBeforeTheFirstReport) {
  StartGate gate;
  EXPECT_FALSE(gate.admit("a", 1, at(0)));
}

TEST(StartGate, TwelveStartsInOneTickLetOneIn) {
  StartGate gate;
  gate.report(1000, 3);
  int admitted = 0;
  for (int i = 0; i < 12; ++i) admitted += gate.admit("c" + std::to_string(i), 64, at(0)) ? 1 : 0;

  EXPECT_EQ(admitted, 1);
  EXPECT_FALSE(gate.admit("late", 64, at(249)));
  EXPECT_TRUE(gate.admit("next", 64, at(250)));
}

TEST(StartGate, ClaimsOfTheAdmittedAreReservedAtOnce) {
  StartGate gate;
  gate.report(150, 3);

  EXPECT_TRUE(gate.admit("a", 64, at(0)));
  EXPECT_EQ(gate.reserved(), 64);
  EXPECT_TRUE(gate.admit("b", 64, at(250)));
  EXPECT_FALSE(gate.admit("c", 64, at(500)));
}

TEST(StartGate, OneIsAlwaysLetInOnAnEmptyNode) {
  StartGate gate;
  gate.report(10, 0);

  EXPECT_TRUE(gate.admit("huge", 1000, at(0)));
  EXPECT_FALSE(gate.admit("second", 1000, at(250)));
}

TEST(StartGate, RefusedIsAskedAgainAndGetsInWhenThereIsRoom) {
  StartGate gate;
  gate.report(0, 2);
  EXPECT_FALSE(gate.admit("a", 64, at(0)));
  gate.report(64, 1);
  EXPECT_TRUE(gate.admit("a", 64, at(250)));
}

TEST(StartGate, AdmittedIdHasItsGrantAlready) {
  StartGate gate;
  gate.report(64, 1);
  EXPECT_TRUE(gate.admit("a", 64, at(0)));
  EXPECT_TRUE(gate.admit("a", 64, at(1)));
  EXPECT_EQ(gate.reserved(), 64);
}

TEST(StartGate, ClaimIsGivenBackFiveSecondsAfterTheStartOrWhenReportsCountIt) {
  StartGate gate;
  gate.report(200, 1);
  EXPECT_TRUE(gate.admit("a", 64, at(0)));
  EXPECT_TRUE(gate.admit("b", 64, at(250)));
  gate.started("a", at(1000));
  gate.settled("b");
  EXPECT_EQ(gate.reserved(), 64);

  EXPECT_FALSE(gate.admit("c", 150, at(5999)));
  EXPECT_TRUE(gate.admit("c", 150, at(6000)));
}

TEST(StartGate, GrantThatNobodyUsesIsGivenBackAfterAMinute) {
  StartGate gate;
  gate.report(64, 1);
  EXPECT_TRUE(gate.admit("a", 64, at(0)));
  EXPECT_FALSE(gate.admit("b", 64, at(59'999)));
  EXPECT_TRUE(gate.admit("b", 64, at(60'000)));
}

TEST(StartGate, WithoutAGateEveryClaimFits) {
  StartGate gate;
  gate.report(kAdmitAnything, 5);
  EXPECT_TRUE(gate.admit("a", std::int64_t{1} << 50, at(0)));
  EXPECT_TRUE(gate.admit("b", std::int64_t{1} << 50, at(250)));
}

TEST(StartGate, ClockThatStepsBackNeitherOpensNorBlocksIt) {
  StartGate gate;
  gate.report(1000, 1);
  EXPECT_TRUE(gate.admit("a", 64, at(100'000)));
  EXPECT_FALSE(gate.admit("b", 64, at(0)));
  EXPECT_TRUE(gate.admit("b", 64, at(250)));
}

}  // namespace
}  // namespace sluice::node_agent
