#include "autoscaler/placement/core/ledger.h"

#include <gtest/gtest.h>

#include <chrono>
#include <random>
#include <string>
#include <vector>

namespace sluice::placement {
namespace {

using namespace std::chrono_literals;

constexpr ServiceId kShop{0};
constexpr ServiceId kPay{1};
constexpr Resources kReplica{.cpu = 100, .memory = 50, .slots = 1};
constexpr Resources kNodeSize{.cpu = 1000, .memory = 500, .slots = 4};

TimePoint at(int seconds) {
  return TimePoint{std::chrono::seconds{seconds}};
}

class LedgerOfOneNode : public ::testing::Test {
 protected:
  [[nodiscard]] ReservationId reserve(ServiceId service, int expires) {
    return ledger_.reserve({.owner = Owner::of(service),
                            .service = service,
                            .node = node_,
                            .room = kReplica,
                            .expires = at(expires)});
  }

  Ledger ledger_;
  PlaceId place_ = ledger_.add_place({.name = "fast"});
  NodeId node_ = ledger_.add_node({.name = "n", .place = place_, .capacity = kNodeSize});
};

TEST_F(LedgerOfOneNode, RoomThatIsTakenIsNotFree) {
  ledger_.take(node_, kShop, kReplica * 3);

  EXPECT_EQ(ledger_.free(node_), (Resources{.cpu = 700, .memory = 350, .slots = 1}));
  EXPECT_EQ(ledger_.count(node_, kShop), 3);
  EXPECT_EQ(ledger_.problem(), "");
}

TEST_F(LedgerOfOneNode, ReservedRoomIsNotFreeUntilItIsReleased) {
  const ReservationId id = reserve(kShop, 10);
  EXPECT_EQ(ledger_.free(node_).slots, 3);
  EXPECT_EQ(ledger_.count(node_, kShop), 1);

  EXPECT_TRUE(ledger_.release(id));

  EXPECT_EQ(ledger_.free(node_), kNodeSize);
  EXPECT_FALSE(ledger_.release(id));
  EXPECT_EQ(ledger_.problem(), "");
}

TEST_F(LedgerOfOneNode, AReservationEndsWhenItExpires) {
  const ReservationId late = reserve(kShop, 20);
  const ReservationId soon = reserve(kPay, 10);
  EXPECT_EQ(ledger_.next_expiry(), at(10));

  EXPECT_TRUE(ledger_.expire(at(9)).empty());
  const auto ended = ledger_.expire(at(10));

  ASSERT_EQ(ended.size(), 1U);
  EXPECT_EQ(ended.front().id, soon);
  EXPECT_EQ(ended.front().owner, Owner::of(kPay));
  EXPECT_NE(ledger_.find(late), nullptr);
  EXPECT_EQ(ledger_.free(node_).slots, 3);
}

TEST_F(LedgerOfOneNode, AnIdOfAnEndedReservationIsNotUsedAgain) {
  const ReservationId first = reserve(kShop, 10);
  (void)ledger_.release(first);

  const ReservationId second = reserve(kPay, 10);

  EXPECT_NE(first, second);
  EXPECT_EQ(ledger_.find(first), nullptr);
  EXPECT_EQ(ledger_.find(second)->service, kPay);
}

TEST_F(LedgerOfOneNode, ReplicasBeyondTheCapacityAreCountedAsTheyAre) {
  ledger_.take(node_, kShop, kReplica * 6);

  EXPECT_EQ(ledger_.free(node_).slots, -2);
  EXPECT_EQ(ledger_.totals(place_).used.slots, 6);
}

TEST_F(LedgerOfOneNode, ServicesOfAPlaceAreThoseWithReplicasThere) {
  (void)reserve(kShop, 10);
  EXPECT_TRUE(ledger_.services(place_).empty());

  ledger_.take(node_, kPay, kReplica);
  ledger_.take(node_, kShop, kReplica);
  const auto services = ledger_.services(place_);
  EXPECT_EQ((std::vector<ServiceId>{services.begin(), services.end()}),
            (std::vector<ServiceId>{kShop, kPay}));

  ledger_.give_back(node_, kShop, kReplica);
  EXPECT_EQ(ledger_.services(place_).size(), 1U);
}

TEST_F(LedgerOfOneNode, ANodeThatIsRemovedTakesAllThatItHadAlong) {
  ledger_.take(node_, kShop, kReplica);
  const ReservationId id = reserve(kPay, 10);

  ledger_.remove_node(node_);

  EXPECT_EQ(ledger_.find(id), nullptr);
  EXPECT_TRUE(ledger_.holdings(kShop).empty());
  EXPECT_EQ(ledger_.totals(place_).nodes, 0);
  ledger_.remove_place(place_);
  EXPECT_TRUE(ledger_.places().empty());
}

TEST_F(LedgerOfOneNode, TotalsCountReadyNodesOnly) {
  const NodeId other = ledger_.add_node({.name = "m", .place = place_, .capacity = kNodeSize});
  ledger_.take(other, kShop, kReplica);
  EXPECT_EQ(ledger_.totals(place_).capacity.slots, 8);

  Node unseen = ledger_.node(other);
  unseen.state = NodeState::unseen;
  ledger_.update_node(other, unseen);

  EXPECT_EQ(ledger_.totals(place_).capacity.slots, 4);
  EXPECT_EQ(ledger_.totals(place_).used, Resources{});
  EXPECT_EQ(ledger_.problem(), "");
}

TEST_F(LedgerOfOneNode, ATrialLeavesTheLedgerAsItWas) {
  ledger_.take(node_, kShop, kReplica * 2);
  {
    Trial trial{ledger_};
    trial.give_back(node_, kShop, kReplica * 2);
    trial.take(node_, kPay, kReplica * 4);
    const Trial::Mark mark = trial.mark();
    trial.give_back(node_, kPay, kReplica);
    trial.back_to(mark);
    EXPECT_EQ(ledger_.count(node_, kPay), 4);
  }

  EXPECT_EQ(ledger_.count(node_, kShop), 2);
  EXPECT_EQ(ledger_.count(node_, kPay), 0);
  EXPECT_EQ(ledger_.problem(), "");
}

TEST_F(LedgerOfOneNode, ATrialThatIsKeptChangesTheLedger) {
  {
    Trial trial{ledger_};
    trial.take(node_, kShop, kReplica);
    trial.keep();
  }

  EXPECT_EQ(ledger_.count(node_, kShop), 1);
}

TEST(Ledger, TheLargestHoleIsThatOfOneNode) {
  Ledger ledger;
  const PlaceId place = ledger.add_place({.name = "fleet"});
  const NodeId first = ledger.add_node({.name = "1", .place = place, .capacity = kNodeSize});
  (void)ledger.add_node({.name = "2", .place = place, .capacity = kNodeSize});
  ledger.take(first, kShop, kReplica * 3);

  EXPECT_EQ(ledger.largest_hole(place), kNodeSize);
  EXPECT_EQ(ledger.totals(place).free().slots, 5);
}

// Goal: sums and lists never differ from what they are made of.
// Method: random changes of every kind, each followed by the check of the whole ledger.
TEST(Ledger, RandomChangesKeepItsSums) {
  std::mt19937 random{7};
  const auto below = [&random](int bound) {
    return static_cast<int>(random() % static_cast<unsigned>(bound));
  };
  Ledger ledger;
  std::vector<NodeId> nodes;
  for (int at = 0; at < 3; ++at) {
    const PlaceId place = ledger.add_place({.name = std::to_string(at)});
    for (int each = 0; each < 3; ++each) {
      nodes.push_back(ledger.add_node({.name = "n", .place = place, .capacity = kNodeSize}));
    }
  }
  std::vector<ReservationId> ids;
  for (int step = 0; step < 3000; ++step) {
    const NodeId node = nodes[static_cast<std::size_t>(below(9))];
    const auto service = ServiceId{static_cast<std::uint32_t>(below(5))};
    switch (below(6)) {
      case 0:
      case 1:
        ledger.take(node, service, kReplica);
        break;
      case 2:
        for (const Holding& held : ledger.holdings(service)) {
          if (held.used.slots == 0) continue;
          ledger.give_back(held.node, service, kReplica);
          break;
        }
        break;
      case 3:
        ids.push_back(ledger.reserve({.owner = Owner::of(service),
                                      .service = service,
                                      .node = node,
                                      .room = kReplica,
                                      .expires = at(step + below(50))}));
        break;
      case 4:
        if (!ids.empty())
          (void)ledger.release(ids[static_cast<std::size_t>(below(static_cast<int>(ids.size())))]);
        break;
      default:
        (void)ledger.expire(at(step));
    }
    ASSERT_EQ(ledger.problem(), "") << step;
  }
}

}  // namespace
}  // namespace sluice::placement
