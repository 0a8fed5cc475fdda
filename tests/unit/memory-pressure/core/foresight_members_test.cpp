// Goal: the rule of foresight freezes only containers that may be frozen, for as long as it may.
#include "tests/unit/memory-pressure/core/foreseen.h"

#include <gtest/gtest.h>

namespace sluice::node_agent {
namespace {

TEST(ForesightMembers, BirthOfUnknownMarksIsLeftAloneWhileThereIsRoom) {
  Foreseen node;
  (void)node.look();
  node.birth("old", 900, 100);
  (void)node.look();
  node.birth("new", 900).described = false;
  EXPECT_EQ(node.look(1), "");
  node.scene["new"].described = true;
  EXPECT_EQ(node.look(1), "new:frozen");
}

TEST(ForesightMembers, BirthOfUnknownMarksIsHeldForAMomentWhenThereIsNoRoom) {
  Foreseen node;
  node.beside = 990;
  (void)node.look();
  Container& birth = node.birth("new", 900);
  birth.described = false;
  birth.marks = {};
  EXPECT_EQ(node.look(1), "new:frozen");
  EXPECT_EQ(node.look(100), "new:frozen");
  EXPECT_EQ(node.look(100), "") << "200 ms after it was seen";
  EXPECT_EQ(node.look(1), "");
}

TEST(ForesightMembers, ProvisionalHoldEndsWhenItTurnsOutToBeNoneThatMayBeHeld) {
  Foreseen node;
  node.beside = 990;
  (void)node.look();
  Container& birth = node.birth("new", 0);
  birth.described = false;
  birth.marks = {};
  EXPECT_EQ(node.look(1), "new:frozen");
  node.scene["new"].described = true;
  EXPECT_EQ(node.look(1), "");
}

TEST(ForesightMembers, ExemptAndServingContainersAreNeverFrozen) {
  Foreseen node;
  node.beside = 900;
  (void)node.look();
  node.birth("never", 500).marks.never = true;
  node.birth("serves", 500).marks.serves = true;
  node.birth("probed", 500).marks.exec_probe = true;
  node.birth("init", 500).marks.init = true;
  node.birth("bare", 500).marks.batch = false;
  node.birth("pair", 500).marks.whole_pod = true;
  Container& second = node.birth("pair-2", 500);
  second.marks.whole_pod = true;
  second.pod_uid = "uid-pair";
  EXPECT_EQ(node.look(), "");
  EXPECT_EQ(node.look(), "");
}

TEST(ForesightMembers, ContainerThatRanBeforeTheFirstLookIsHeldByAShortageOnly) {
  Foreseen node;
  for (const char* id : {"a", "b", "c"}) node.birth(id, 500, 100).born.reset();
  EXPECT_EQ(node.look(), "");
  node.scene.after(1);
  node.birth("new", 500);
  EXPECT_EQ(node.look(), "new:frozen");
  node.beside = 690;
  EXPECT_EQ(node.look(), "b:frozen c:frozen new:frozen");
}

TEST(ForesightMembers, OthersAreThrottledOnlyWhenNoBatchContainerIsLeftToHold) {
  Foreseen node;
  (void)node.look();
  node.service("service", 600, 300);
  node.service("other", 50, 40);
  node.birth("a", 200, 100);
  node.birth("b", 200, 100);
  EXPECT_EQ(node.look_for(std::chrono::seconds{10}), "");
  node.scene.grow("service", 580);
  node.beside = 100;
  EXPECT_EQ(node.look(), "b:frozen service:100m") << "no other of a Job runs";
}

TEST(ForesightMembers, ALeakIsSacrificedAtOnceOnceNoBatchContainerIsLeftToHold) {
  Foreseen node;
  (void)node.look();
  node.service("leak", 0, 600);
  node.service("calm", 50, 40);
  node.birth("a", 150, 100);
  node.birth("b", 150, 100);
  for (int i = 0; i < 250 && !node.decision.sacrifice; ++i) {
    node.scene.grow("leak", 600 + i);
    (void)node.look(250);
  }
  ASSERT_TRUE(node.decision.sacrifice);
  EXPECT_EQ(node.decision.sacrifice->id, "leak");
  EXPECT_EQ(node.decision.sacrifice->grace, Duration::zero()) << "the node is above 0.97";
  EXPECT_TRUE(throttled(node.decision).starts_with("b:frozen"));
}

TEST(ForesightMembers, HoldByQuotaIsTheDeepestOneAndItsLeakIsExpected) {
  PolicySettings settings = without_reserve();
  settings.hold = HoldBy::quota;
  Foreseen node{settings};
  (void)node.look();
  node.birth("a", 500);
  node.birth("b", 740);
  EXPECT_EQ(node.look(), "");
  node.birth("c", 500);
  // 0.8 * 1240 and 6 that leak in 3 s at 1m.
  EXPECT_EQ(node.look(), "c:1m");
  EXPECT_EQ(node.decision.throttled.front().ladder_step, 4U);
}

TEST(ForesightMembers, ContainerWithoutAFreezerIsHeldByItsQuota) {
  Foreseen node;
  (void)node.look();
  node.birth("a", 1000);
  node.birth("b", 1000).cgroup.clear();
  EXPECT_EQ(node.look(), "b:1m");
}

TEST(ForesightMembers, ThoseHeldBeforeThisStartStayHeldUntilThereIsRoom) {
  Foreseen node;
  node.beside = 960;
  node.birth("a", 100, 10).born.reset();
  node.scene.after(1);
  node.birth("b", 100, 10).frozen = true;
  EXPECT_EQ(node.look(), "b:frozen");
  node.beside = 700;
  EXPECT_EQ(node.look(), "");
}

TEST(ForesightMembers, ContainerFrozenByAnotherProgramCountsForWhatItHolds) {
  Foreseen node;
  (void)node.look();
  node.birth("a", 500);
  (void)node.look_for(std::chrono::seconds{2});
  node.scene["a"].frozen = true;
  node.birth("b", 600);
  node.scene.seen.containers.back().frozen = false;
  (void)node.policy().decide(node.scene.after(50).seen);
  const Decision decision = node.policy().decide(node.scene.after(50).seen);
  EXPECT_EQ(throttled(decision), "");
  EXPECT_EQ(decision.admit_bytes / kMiB, 650) << "of 1000, 0.8 * 600 are b's";
}

TEST(ForesightMembers, SystemProgramsWithoutALimitAreNoStrangers) {
  Foreseen node;
  node.service("kubelet", 0, 100).marks.system = true;
  (void)node.look();
  node.birth("a", 500);
  node.birth("b", 500);
  EXPECT_EQ(node.look(), "");
}

TEST(ForesightMembers, ContainerThatNeverGivesBackIsKnownAfterAMinute) {
  Foreseen node;
  node.service("service", 0, 100);
  (void)node.look();
  node.birth("a", 500);
  node.birth("b", 500);
  EXPECT_EQ(node.look(), "b:frozen");
  EXPECT_EQ(node.look_for(std::chrono::seconds{81}), "");
}

/// Serves with 500 to grow, and rests: no request is in flight.
Container& resting(Foreseen& node, const std::string& id, std::int64_t size = 50) {
  Container& one = node.service(id, 500, size);
  one.cgroup = id;
  one.frozen = false;
  one.rests = true;
  return one;
}

/// 850 are used, and what rests could need 450: not all fits, and usage is above L.
void fill(Foreseen& node) {
  node.beside = 700;
  (void)node.look();
  resting(node, "idle");
  (void)node.look_for(std::chrono::seconds{2});
  node.birth("job", 200, 100);
}

TEST(ForesightMembers, WhatRestsIsHeldBeforeAnyJob) {
  Foreseen node;
  fill(node);
  EXPECT_EQ(node.look(), "idle:frozen") << "700, 180 and 50 fit";
  node.birth("more", 300);
  EXPECT_EQ(node.look(), "idle:frozen more:frozen");
  EXPECT_EQ(node.decision.pressure, Pressure::high);
  node.scene.remove("job");
  EXPECT_EQ(node.look(1000), "");
}

TEST(ForesightMembers, AHoldOfWhatRestsIsNoReasonToRefuseStartsOrToEndIdleReplicas) {
  Foreseen node;
  fill(node);
  ASSERT_EQ(node.look(), "idle:frozen");

  EXPECT_EQ(node.decision.pressure, Pressure::ok);
  EXPECT_FALSE(node.decision.retire_idle);
  EXPECT_GE(node.decision.admit_bytes, 50 * kMiB) << "150 are free, 100 could be needed";
}

TEST(ForesightMembers, ARequestEndsTheHold) {
  Foreseen node;
  fill(node);
  ASSERT_EQ(node.look(), "idle:frozen");

  node.scene["idle"].rests = false;

  EXPECT_EQ(node.look(), "");
}

TEST(ForesightMembers, WhatRestsIsNotHeldWithoutAShortageNorWhereItMayNotBeFrozen) {
  Foreseen node;
  (void)node.look();
  resting(node, "idle");
  resting(node, "never").marks.never = true;
  resting(node, "bare").cgroup.clear();
  EXPECT_EQ(node.look_for(std::chrono::seconds{3}), "") << "three times 410 do not fit";
  EXPECT_EQ(node.decision.pressure, Pressure::ok);
  node.beside = 760;
  EXPECT_EQ(node.look(), "idle:frozen");
  node.beside = 0;
  EXPECT_EQ(node.look_for(std::chrono::seconds{20}), "");
}

TEST(ForesightMembers, OneThatServesAndOptedOutIsNoEmptyNode) {
  Foreseen node;
  node.beside = 800;
  Container& one = node.service("never", 500, 100);
  one.marks.never = one.marks.serves = true;
  (void)node.look();
  EXPECT_LT(node.decision.admit_bytes, 100 * kMiB);
}

TEST(ForesightMembers, AboveTheUpperThresholdAllThatRestIsHeldUntilItIsBelowTheLower) {
  Foreseen node;
  node.beside = 700;
  (void)node.look();
  for (const char* id : {"a", "b"}) {
    Container& one = resting(node, id);
    one.memory_limit = 0;
    one.claim = 50;  // of one without a limit: never more than it has
  }
  EXPECT_EQ(node.look_for(std::chrono::seconds{2}), "");
  node.beside = 850;
  EXPECT_EQ(node.look(), "a:frozen b:frozen");
  node.beside = 780;
  EXPECT_EQ(node.look_for(std::chrono::seconds{2}), "a:frozen b:frozen");
  node.beside = 700;
  EXPECT_EQ(node.look_for(std::chrono::seconds{2}), "");
}

}  // namespace
}  // namespace sluice::node_agent
