// Goal: on a node whose kernel kills, the hook keeps its promises in every replay, whatever fails.
// Method: the experiment of memory-pressure.md 4 on a simulated kernel, many seeds; the properties
// are checked in each step by the run itself (node_run.cpp) and come back as breaches.

#include "bench/replays/paper-agent/paper_policy.h"
#include "tests/simulation/node_run.h"

#include <gtest/gtest.h>

#include <string>

namespace sluice::node_agent {
namespace {

constexpr std::uint64_t kSeeds = 20;

using Rules = MemoryController::Options;

Rules at_lab_scale(PolicyKind policy = PolicyKind::headroom) {
  Rules rules;
  rules.policy.policy = policy;
  rules.policy.reserve = std::int64_t{4} << 20;  // 200 MiB of 32 GiB
  return rules;
}

Rules throttle_only() {
  return throttling(PolicyKind::headroom);
}

Rules gate_only() {
  Rules rules = at_lab_scale();
  rules.policy.pause = false;
  return rules;
}

Rules paper() {
  Rules rules = at_lab_scale();
  rules.make_policy = make_paper;
  return rules;
}

NodeScene with_bystanders(int at_once) {
  NodeScene scene = lab(at_once);
  scene.bystanders = true;
  return scene;
}

TEST(NodeSimulation, RepeatsTheSameRunForTheSameSeed) {
  const NodeRun one = play(lab(12), throttle_only(), 7);
  const NodeRun two = play(lab(12), throttle_only(), 7);
  EXPECT_EQ(one.restarts_kernel, two.restarts_kernel);
  EXPECT_EQ(one.updates, two.updates);
  EXPECT_EQ(one.core_ms, two.core_ms);
}

TEST(NodeSimulation, OvercommitKillsWithoutAHookAsItDoesOnARealKernel) {
  EXPECT_EQ(pooled(lab(9), at_lab_scale(PolicyKind::off), 10).kernel, 0);
  EXPECT_GT(pooled(lab(12), at_lab_scale(PolicyKind::off), 10).kernel, 200);
}

TEST(NodeSimulation, EveryPolicyKeepsItsGuaranteesAtEveryOvercommit) {
  for (const int at_once : {9, 10, 11, 12}) {
    for (const Rules& rules :
         {at_lab_scale(PolicyKind::off), paper(), gate_only(), throttle_only(), at_lab_scale()}) {
      EXPECT_EQ(pooled(with_bystanders(at_once), rules, 4).breaches, "");
    }
  }
}

TEST(NodeSimulation, OffAndGateOnlySendNoUpdates) {
  EXPECT_EQ(pooled(lab(12), at_lab_scale(PolicyKind::off), 5).updates, 0);
  EXPECT_EQ(pooled(lab(12), gate_only(), 5).updates, 0);
}

TEST(NodeSimulation, WithTheGateNoContainerIsSacrificedAndTheKernelKillsFew) {
  for (const int at_once : {11, 12}) {
    const Sum off = pooled(lab(at_once), at_lab_scale(PolicyKind::off), kSeeds);
    const Sum ours = pooled(lab(at_once), at_lab_scale(), kSeeds);
    EXPECT_EQ(ours.own, 0);
    EXPECT_LE(ours.kernel * 20, off.kernel);
    EXPECT_LE(ours.makespan_s, off.makespan_s * 1.05);
    EXPECT_EQ(ours.breaches, "");
  }
}

// Its starts are not spaced, so that more of them grow together.
TEST(NodeSimulation, GateOfOneMachineKeepsTheSameGuarantees) {
  for (const int at_once : {11, 12}) {
    NodeScene scene = with_bystanders(at_once);
    const Sum off = pooled(scene, at_lab_scale(PolicyKind::off), kSeeds);
    scene.own_gate = true;
    const Sum ours = pooled(scene, at_lab_scale(), kSeeds);
    EXPECT_EQ(ours.own, 0);
    EXPECT_LE(ours.kernel * 10, off.kernel);
    EXPECT_LE(ours.makespan_s, off.makespan_s * 1.05);
    EXPECT_EQ(ours.breaches, "");
  }
}

TEST(NodeSimulation, HeadroomLosesLessWorkThanThePublishedRule) {
  const Sum published = pooled(lab(12), paper(), 20);
  const Sum ours = pooled(lab(12), at_lab_scale(), 20);
  EXPECT_LT(ours.wasted_s, published.wasted_s / 10);
}

TEST(NodeSimulation, LostAndLateAnswersLeaveNoContainerThrottled) {
  const NodeFaults faults{.lost = 0.2, .late = 0.2};
  EXPECT_EQ(pooled(with_bystanders(12), throttle_only(), kSeeds, faults).breaches, "");
  EXPECT_EQ(pooled(with_bystanders(12), paper(), 20, faults).breaches, "");
}

TEST(NodeSimulation, RuntimeThatIsDownForAWhileLeavesNoContainerThrottled) {
  const NodeFaults faults{.runtime_down = true};
  EXPECT_EQ(pooled(with_bystanders(12), throttle_only(), kSeeds, faults).breaches, "");
  EXPECT_EQ(pooled(with_bystanders(12), at_lab_scale(), 20, faults).breaches, "");
}

TEST(NodeSimulation, AgentThatIsKilledNowAndThenLeavesNoContainerThrottled) {
  const NodeFaults faults{.crash = true};
  EXPECT_EQ(pooled(with_bystanders(12), throttle_only(), kSeeds, faults).breaches, "");
  const Sum gated = pooled(with_bystanders(12), at_lab_scale(), kSeeds, faults);
  EXPECT_EQ(gated.breaches, "");
  EXPECT_EQ(gated.own, 0);
}

TEST(NodeSimulation, ClockStepsLeaveNoContainerThrottled) {
  const NodeFaults faults{.clock_steps = true};
  EXPECT_EQ(pooled(with_bystanders(12), throttle_only(), kSeeds, faults).breaches, "");
}

TEST(NodeSimulation, AllFaultsTogetherLeaveNoContainerThrottled) {
  const NodeFaults faults{
      .lost = 0.1, .late = 0.1, .runtime_down = true, .crash = true, .clock_steps = true};
  EXPECT_EQ(pooled(with_bystanders(12), throttle_only(), kSeeds, faults).breaches, "");
  EXPECT_EQ(pooled(with_bystanders(11), at_lab_scale(), kSeeds, faults).breaches, "");
}

}  // namespace
}  // namespace sluice::node_agent
