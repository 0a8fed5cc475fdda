#include "autoscaler/placement/core/node_gates.h"

#include "autoscaler/placement/core/placement.h"
#include "common/messages/start_gate.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

namespace sluice::placement {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::int64_t kMiB = 1 << 20;
const RevisionId kApp{"default", "app"};
const RevisionId kOther{"default", "other"};

class NodeGatesTest : public ::testing::Test {
 protected:
  // Asks until nothing is put off any more: starts are spaced.
  std::int32_t granted(const RevisionId& revision, std::int32_t wanted, std::int32_t ordered = 0,
                       const std::vector<ReplicaAt>& replicas = {}) {
    while (true) {
      now_ += kStartSpacing;
      const Grant answer = ask(revision, wanted, ordered, replicas);
      if (!answer.ask_again) return answer.replicas;
      ordered = answer.replicas;
    }
  }

  Grant ask(const RevisionId& revision, std::int32_t wanted, std::int32_t ordered = 0,
            const std::vector<ReplicaAt>& replicas = {}) {
    Grant grant = placement_.ask(revision, {.wanted = wanted,
                                            .ordered = ordered,
                                            .each = {.memory = 100 * kMiB, .slots = 1},
                                            .replicas = replicas,
                                            .now = now_});
    EXPECT_EQ(placement_.ledger().problem(), "");
    return grant;
  }

  NodeGates gates_;
  Placement placement_{gates_};
  TimePoint now_{seconds{1'000'000}};
};

TEST_F(NodeGatesTest, WithoutAnAgentEverythingIsGranted) {
  EXPECT_EQ(granted(kApp, 1000), 1000);
  EXPECT_FALSE(placement_.ledger().next_expiry());
}

TEST_F(NodeGatesTest, ASumOfSmallRoomsIsNoRoom) {
  gates_.report("n1", 250 * kMiB);
  gates_.report("n2", 150 * kMiB);
  EXPECT_EQ(granted(kApp, 10), 3);
  now_ += kStartSpacing;
  const Grant short_one = ask(kApp, 10, 3);
  ASSERT_TRUE(short_one.missing);
  EXPECT_EQ(short_one.missing->count, 7);
  EXPECT_EQ(short_one.missing->reason, Reason::gate);
  EXPECT_EQ(short_one.missing->detail, "no memory: 50 MiB free, needs 100 MiB");
  EXPECT_FALSE(ask(kApp, 2, 2).missing);
}

TEST_F(NodeGatesTest, AGrantKeepsItsRoomUntilItsReplicaHasSettled) {
  gates_.report("n1", 300 * kMiB);
  EXPECT_EQ(granted(kApp, 2), 2);
  EXPECT_EQ(granted(kOther, 2), 1);
  // One of them runs now, and its memory is in the reports.
  const std::vector<ReplicaAt> settled{{.node = "n1", .settled = true}};
  EXPECT_EQ(granted(kApp, 2, 2, settled), 2);
  EXPECT_EQ(granted(kOther, 2, 1), 2);
}

TEST_F(NodeGatesTest, AClaimFollowsItsReplicaToTheNodeItCameTo) {
  gates_.report("n1", 400 * kMiB);
  gates_.report("n2", 200 * kMiB);
  EXPECT_EQ(granted(kApp, 1), 1);  // both at n1, which has most room
  EXPECT_EQ(granted(kOther, 1), 1);
  const std::vector<ReplicaAt> young{{.node = "n2"}};
  EXPECT_EQ(granted(kApp, 1, 1, young), 1);
  EXPECT_EQ(placement_.ledger().free(*gates_.find("n2")).memory, 100 * kMiB);
}

TEST_F(NodeGatesTest, AReplicaThatIsNotScheduledYetKeepsItsRoom) {
  gates_.report("n1", 100 * kMiB);
  EXPECT_EQ(granted(kApp, 1), 1);
  const std::vector<ReplicaAt> pending{{.node = ""}};
  EXPECT_EQ(granted(kApp, 1, 1, pending), 1);
  EXPECT_EQ(granted(kOther, 1), 0);
}

TEST_F(NodeGatesTest, AReplicaOnANodeWithoutAnAgentClaimsNothing) {
  gates_.report("n1", 100 * kMiB);
  EXPECT_EQ(granted(kApp, 1), 1);
  const std::vector<ReplicaAt> elsewhere{{.node = "other"}};
  EXPECT_EQ(granted(kApp, 1, 1, elsewhere), 1);
  EXPECT_EQ(granted(kOther, 1), 1);
}

TEST_F(NodeGatesTest, UnwantedReplicasAndDroppedRevisionsFreeTheirRoom) {
  gates_.report("n1", 200 * kMiB);
  EXPECT_EQ(granted(kApp, 2), 2);
  EXPECT_EQ(granted(kOther, 2), 0);
  EXPECT_EQ(granted(kApp, 1, 1), 1);
  EXPECT_EQ(granted(kOther, 2), 1);
  placement_.forget(kApp);
  EXPECT_EQ(granted(kOther, 2, 1), 2);
}

TEST_F(NodeGatesTest, WhatWasGrantedStaysWhenTheGateShuts) {
  gates_.report("n1", 0);
  EXPECT_EQ(granted(kApp, 5, 3), 3);
  EXPECT_EQ(granted(kApp, 2, 2), 2);
}

// Row 69c of memory-pressure.md 9.
TEST_F(NodeGatesTest, OfTwelveStartsInOneTickOneIsGrantedPerNode) {
  gates_.report("n1", 2000 * kMiB);
  gates_.report("n2", 2000 * kMiB);
  gates_.report("shut", 0);

  const Grant first = ask(kApp, 12);
  EXPECT_EQ(first.replicas, 2);
  EXPECT_EQ(first.ask_again, now_ + kStartSpacing);
  EXPECT_FALSE(first.missing);
  EXPECT_EQ(ask(kOther, 1).replicas, 0);

  now_ += kStartSpacing - milliseconds{1};
  EXPECT_EQ(ask(kApp, 12, 2).replicas, 2);
  now_ += milliseconds{1};
  EXPECT_EQ(ask(kOther, 1).replicas, 1);
  EXPECT_EQ(ask(kApp, 12, 2).replicas, 3);
}

TEST_F(NodeGatesTest, RunningReplicasAreNotCountedAsStarts) {
  gates_.report("n1", 2000 * kMiB);
  const std::vector<ReplicaAt> settled(5, {.node = "n1", .settled = true});
  EXPECT_EQ(ask(kApp, 5, 0, settled).replicas, 5);
  EXPECT_EQ(ask(kOther, 3, 2).replicas, 3);
}

TEST_F(NodeGatesTest, NodesWithoutAGateDoNotSpaceStarts) {
  gates_.report("n1", std::numeric_limits<std::int64_t>::max());
  gates_.report("n2", 100 * kMiB);
  EXPECT_EQ(ask(kApp, 12).replicas, 12);
}

TEST_F(NodeGatesTest, AClockThatStepsBackDelaysNoStart) {
  gates_.report("n1", 2000 * kMiB);
  EXPECT_EQ(ask(kApp, 1).replicas, 1);
  now_ -= seconds{100};
  EXPECT_EQ(ask(kOther, 1).replicas, 1);
}

TEST_F(NodeGatesTest, ANodeThatFallsSilentTakesItsClaimsWithIt) {
  gates_.report("n1", 100 * kMiB);
  gates_.report("n2", 0);
  EXPECT_EQ(granted(kApp, 1), 1);
  gates_.drop("n1");
  EXPECT_EQ(granted(kApp, 2, 1), 1);
  gates_.drop("n2");
  EXPECT_EQ(granted(kApp, 2, 1), 2);
}

TEST_F(NodeGatesTest, RoomForAReplicaThatNeverAppearsIsFreeAfterAMinute) {
  gates_.report("n1", 100 * kMiB);
  EXPECT_EQ(granted(kApp, 1), 1);
  now_ += Placement::kPromised / 2;
  EXPECT_EQ(granted(kOther, 1), 0);
  EXPECT_EQ(granted(kApp, 1, 1), 1) << "it is asked for again, and keeps its room";
  now_ += Placement::kPromised - seconds{1};
  EXPECT_EQ(granted(kOther, 1), 0);
  now_ += Placement::kPromised;
  EXPECT_EQ(granted(kOther, 1), 1);
}

TEST_F(NodeGatesTest, ImpossibleSizesAreHandled) {
  for (int i = 0; i < 100; ++i) {
    gates_.report("n" + std::to_string(i), std::numeric_limits<std::int64_t>::max());
  }
  gates_.report("less", std::numeric_limits<std::int64_t>::min());
  EXPECT_GT(granted(kApp, std::numeric_limits<std::int32_t>::max()), 1'000'000);
  EXPECT_GE(granted(kOther, 3), 0);
}

}  // namespace
}  // namespace sluice::placement
