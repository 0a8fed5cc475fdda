// Goal: where others start the containers, holding them at birth saves what an overcommitted node
// would lose, and costs no time.
// Method: the experiments of memory-pressure.md 4 on the simulated node, without a gate, beside the
// same node without a rule; both workloads, many seeds.

#include "tests/simulation/node_run.h"

#include <gtest/gtest.h>

#include <string>

namespace sluice::node_agent {
namespace {

constexpr std::uint64_t kManySeeds = 30;
constexpr double kPauseMaxMs = 120'000;

NodeScene seen_after(double sight_ms, NodeScene scene) {
  scene.sight_ms = sight_ms;
  return scene;
}

NodeScene with_bystanders(NodeScene scene) {
  scene.bystanders = true;
  return scene;
}

MemoryController::Options off() {
  return throttling(PolicyKind::off);
}

MemoryController::Options foresight() {
  return throttling(PolicyKind::foresight);
}

/// Restarts of one in a hundred are left, none of them ours, and no one waits too long.
void expect_saved(const Sum& free, const Sum& held, const std::string& scene) {
  EXPECT_LE(held.restarts() * 100, free.restarts()) << scene;
  EXPECT_EQ(held.own, 0) << scene;
  EXPECT_LE(held.longest_pause_ms, kPauseMaxMs) << scene;
  EXPECT_EQ(held.breaches, "") << scene;
}

TEST(NodeForesight, HeldAtBirthRestartsAreSavedInBothWorkloadsAndNoTimeIsLost) {
  for (const bool rests : {false, true}) {
    for (const int at_once : {9, 10, 11, 12, 14}) {
      const NodeScene scene = rests ? faithful(lab(at_once)) : lab(at_once);
      const Sum free = pooled(scene, off(), kManySeeds);
      const Sum held = pooled(seen_after(10, scene), foresight(), kManySeeds);
      const std::string name = (rests ? "faithful " : "harsh ") + std::to_string(at_once);
      expect_saved(free, held, name);
      EXPECT_EQ(held.updates, 0) << "no call to the runtime is on the way of a hold: " << name;
      if (at_once >= 12) EXPECT_LE(held.makespan_s, free.makespan_s * 0.95) << name;
    }
  }
}

TEST(NodeForesight, LimitsFarAboveUseCostNeitherRestartsNorTime) {
  for (const int factor : {2, 4}) {
    NodeScene scene = seen_after(10, lab(12));
    const Sum free = pooled(scene, off(), kManySeeds);
    scene.load.told_limit = factor * scene.load.limit;
    const Sum held = pooled(scene, foresight(), kManySeeds);
    expect_saved(free, held, std::to_string(factor) + " times");
    EXPECT_LE(held.makespan_s, free.makespan_s * 1.05);
  }
}

TEST(NodeForesight, ATenthOfASecondOfDelayIsEarlyEnough) {
  const Sum free = pooled(lab(12), off(), kManySeeds);
  const Sum held = pooled(seen_after(100, lab(12)), foresight(), kManySeeds);
  expect_saved(free, held, "100 ms");
}

TEST(NodeForesight, AtFullSizeTheSameIsSaved) {
  constexpr std::uint64_t kFew = 5;
  for (const bool rests : {false, true}) {
    const NodeScene scene = rests ? faithful(full_size(12)) : full_size(12);
    MemoryController::Options rules = foresight();
    rules.policy.reserve = PolicySettings{}.reserve;
    rules.policy.kin_known_after = PolicySettings{}.kin_known_after;
    const Sum free = pooled(scene, off(), kFew);
    const Sum held = pooled(seen_after(10, scene), rules, kFew);
    expect_saved(free, held, rests ? "faithful" : "harsh");
    EXPECT_LE(held.makespan_s, free.makespan_s * 1.05);
  }
}

TEST(NodeForesight, BystandersKeepWhatTheyHave) {
  const Sum held = pooled(seen_after(10, with_bystanders(lab(12))), foresight(), kManySeeds);
  EXPECT_EQ(held.breaches, "");
  EXPECT_EQ(held.own, 0);
}

TEST(NodeForesight, ContainersAreThawedWhateverFails) {
  const NodeScene scene = seen_after(10, with_bystanders(lab(12)));
  for (const NodeFaults& faults :
       {NodeFaults{.lost = 0.2, .late = 0.2}, NodeFaults{.runtime_down = true},
        NodeFaults{.crash = true}, NodeFaults{.clock_steps = true},
        NodeFaults{
            .lost = 0.1, .late = 0.1, .runtime_down = true, .crash = true, .clock_steps = true}}) {
    const Sum held = pooled(scene, foresight(), kManySeeds, faults);
    EXPECT_EQ(held.breaches, "");
    EXPECT_EQ(held.own, 0);
  }
}

TEST(NodeForesight, QuotasOfHoldsAreRestoredWhateverFails) {
  MemoryController::Options rules = foresight();
  rules.policy.hold = HoldBy::quota;
  const NodeFaults faults{
      .lost = 0.1, .late = 0.1, .runtime_down = true, .crash = true, .clock_steps = true};
  const NodeScene scene = seen_after(10, with_bystanders(lab(12)));
  EXPECT_EQ(pooled(scene, rules, kManySeeds, faults).breaches, "");
}

}  // namespace
}  // namespace sluice::node_agent
