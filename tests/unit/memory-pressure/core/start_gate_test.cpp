#include "memory-pressure/core/start_gate.h"

#include <gtest/gtest.h>

namespace sluice::node_agent {
namespace {

TimePoint at(std::int64_t milliseconds) {
  return TimePoint{std::chrono::milliseconds{milliseconds}};
}

Decision room(std::int64_t bytes, bool empty = false) {
  Decision decision;
  decision.room_bytes = bytes;
  decision.empty = empty;
  return decision;
}

StartGate with_room(std::int64_t bytes, bool empty = false, bool tight = false) {
  StartGate gate;
  gate.report(room(bytes, empty), tight);
  return gate;
}

TEST(StartGate, EverythingMayStartBeforeTheFirstLook) {
  StartGate gate;
  EXPECT_TRUE(gate.ask("a", std::int64_t{1} << 50, at(0)).granted);
  EXPECT_TRUE(gate.ask("b", std::int64_t{1} << 50, at(0)).granted);
}

TEST(StartGate, ClaimsOfTheAdmittedAreReservedAtOnce) {
  StartGate gate = with_room(150);

  EXPECT_TRUE(gate.ask("a", 64, at(0)).granted);
  EXPECT_TRUE(gate.ask("b", 64, at(0)).granted);
  const GateAnswer refused = gate.ask("c", 64, at(0));

  EXPECT_FALSE(refused.granted);
  EXPECT_FALSE(refused.later);
  EXPECT_EQ(refused.free, 22);
  EXPECT_EQ(refused.claim, 64);
}

TEST(StartGate, OneIsAlwaysAdmittedToAnEmptyNode) {
  StartGate gate = with_room(10, true);

  EXPECT_TRUE(gate.ask("huge", 1000, at(0)).granted);
  EXPECT_FALSE(gate.ask("second", 5, at(0)).granted);
}

TEST(StartGate, OneStartsPerLookWhereMemoryIsShort) {
  StartGate gate = with_room(1000, false, true);
  EXPECT_TRUE(gate.ask("a", 64, at(0)).granted);
  const GateAnswer second = gate.ask("b", 64, at(0));
  EXPECT_FALSE(second.granted);
  EXPECT_TRUE(second.later);

  gate.report(room(1000), true);

  EXPECT_TRUE(gate.ask("b", 64, at(50)).granted);
}

TEST(StartGate, RefusedStartIsRetriedAndAdmittedWhenThereIsRoom) {
  StartGate gate = with_room(0);
  EXPECT_FALSE(gate.ask("a", 64, at(0)).granted);

  gate.report(room(64), false);

  EXPECT_TRUE(gate.ask("a", 64, at(250)).granted);
}

TEST(StartGate, AdmittedIdHasItsGrantAlready) {
  StartGate gate = with_room(64, false, true);
  EXPECT_TRUE(gate.ask("a", 64, at(0)).granted);
  EXPECT_TRUE(gate.ask("a", 64, at(1)).granted);
}

TEST(StartGate, ClaimIsGivenBackWhenLooksShowItOrItEnded) {
  StartGate gate = with_room(64);
  EXPECT_TRUE(gate.ask("a", 64, at(0)).granted);

  gate.settled("a");

  EXPECT_TRUE(gate.ask("b", 64, at(0)).granted);
}

TEST(StartGate, GrantThatIsNotUsedIsGivenBackAfterAMinuteWhateverTheClockDoes) {
  StartGate gate = with_room(64);
  EXPECT_TRUE(gate.ask("a", 64, at(100'000)).granted);
  EXPECT_FALSE(gate.ask("b", 64, at(0)).granted);
  EXPECT_FALSE(gate.ask("b", 64, at(59'999)).granted);
  EXPECT_TRUE(gate.ask("b", 64, at(60'000)).granted);
}

}  // namespace
}  // namespace sluice::node_agent
