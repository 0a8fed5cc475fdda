// A place that a person drains, move by move.

#include "autoscaler/placement/core/evacuation.h"
#include "autoscaler/placement/core/moves.h"
#include "tests/unit/autoscaler/placement/core/scene.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

namespace sluice::placement {
namespace {

constexpr std::int64_t kReplicas = 3;

// Services of three replicas each at fast, which is drained.
class Drained {
 public:
  Drained(std::int32_t services, std::int64_t slots_at_slow) {
    scene.place("fast", {});
    scene.place("slow", {.preference = 1, .capacity = {kUnbounded, kUnbounded, slots_at_slow}});
    for (std::int32_t at = 0; at < services; ++at) {
      names_.push_back("app-" + std::to_string(at));
      scene.service(names_.back());
      scene.run(names_.back(), "fast", kReplicas);
    }
    scene.set_state("fast", PlaceState::draining);
  }

  /// Plans what can leave, and lets the oldest move that runs end. False: nothing is left to do.
  bool cycle() {
    scene.parameters().begin_cycle();
    const Evacuation found =
        evacuate(scene.ledger(), scene, scene.parameters(), scene.policy, scene.place_id("fast"),
                 {.replicas_max = MoveLimits{}.drain_batch});
    remaining = found.remaining;
    for (const PlannedMove& planned : found.moves) add(planned);
    static_cast<void>(moves.begin_due(scene.now));
    most = std::max(most, moves.leaving(scene.place_id("fast")));
    if (moves.running().empty()) return false;
    end(moves.running().front());
    return true;
  }

  Scene scene;
  Moves moves{{}};
  std::int32_t most = 0;  // replicas on their way out
  std::vector<Evacuation::Remaining> remaining;

 private:
  void add(const PlannedMove& planned) {
    const std::string& name = names_[index_of(planned.service)];
    const auto added = moves.add(
        {.service = planned.service,
         .from = planned.from,
         .to = planned.to,
         .replicas = static_cast<std::int32_t>(planned.from_nodes.size()),
         .spec = {.service = name, .from = "fast", .to = "slow", .cause = MoveCause::drain}},
        scene.now);
    if (!added) return;
    scene.facts(name).moving = true;
    scene.end(name, "fast", kReplicas);  // as if it had its reservation, which counts the same
    scene.run(name, "slow", kReplicas);
  }

  void end(MoveId id) {
    const ServiceId service = moves.wish(id).service;
    MoveView gone;
    gone.wanted = static_cast<std::int32_t>(kReplicas);
    static_cast<void>(moves.step(id, gone, scene.now));
    scene.facts(names_[index_of(service)]).moving = false;
  }

  std::vector<std::string> names_;
};

TEST(Drain, EmptiesAPlaceOfOneNodeInBatchesOfTenReplicas) {
  Drained drained{20, 1'000};

  while (drained.cycle()) {
  }

  EXPECT_LE(drained.most, 10);
  EXPECT_GE(drained.most, 9);
  EXPECT_TRUE(drained.remaining.empty());
  EXPECT_TRUE(drained.scene.ledger().services(drained.scene.place_id("fast")).empty());
  EXPECT_EQ(drained.moves.records().size(), 20U);
}

TEST(Drain, WhatNoOtherPlaceHasRoomForStaysAndIsListed) {
  Drained drained{5, 7};

  while (drained.cycle()) {
  }

  EXPECT_EQ(drained.moves.records().size(), 2U);
  EXPECT_EQ(drained.remaining.size(), 3U);
  EXPECT_EQ(drained.remaining.front().reason, Stays::no_room);
}

}  // namespace
}  // namespace sluice::placement
