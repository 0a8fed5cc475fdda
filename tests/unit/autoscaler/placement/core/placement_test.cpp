#include "autoscaler/placement/core/placement.h"

#include "tests/unit/autoscaler/placement/core/groups_site.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

namespace sluice::placement {
namespace {

using std::chrono::seconds;

constexpr std::int64_t kMebibyte = std::int64_t{1} << 20;
const RevisionId kShop{"default", "shop"};
const RevisionId kPay{"default", "pay"};

class PlacementTest : public ::testing::Test {
 protected:
  PlacementTest() {
    site_.add("fast", 0, {.cpu = kUnbounded, .memory = 1024 * kMebibyte, .slots = 4});
    site_.add("slow", 1, {.cpu = kUnbounded, .memory = 4096 * kMebibyte, .slots = 20});
  }

  Grant ask(const RevisionId& revision, std::int32_t wanted) {
    Grant grant = placement_.ask(revision, {.wanted = wanted,
                                            .each = {.memory = 64 * kMebibyte, .slots = 1},
                                            .wish = &wishes_[revision],
                                            .replicas = replicas_[revision],
                                            .forced = forced_,
                                            .now = now_});
    EXPECT_EQ(placement_.ledger().problem(), "");
    return grant;
  }

  // What is granted runs from now on.
  std::string run(const RevisionId& revision, std::int32_t wanted) {
    const Grant grant = ask(revision, wanted);
    auto& replicas = replicas_[revision];
    replicas.clear();
    for (const PlaceShare& share : grant.places) {
      const char* const name = share.place == "fast" ? "fast" : "slow";
      replicas.insert(replicas.end(), static_cast<std::size_t>(share.replicas), {.node = name});
    }
    return shown(grant);
  }

  static std::string shown(const Grant& grant) {
    std::string text;
    for (const PlaceShare& share : grant.places) {
      text += (text.empty() ? "" : ", ") + share.place + " " + std::to_string(share.replicas);
    }
    if (grant.missing) {
      text += (text.empty() ? "" : "; ") + std::to_string(grant.missing->count) +
              " missing: " + grant.missing->detail;
    }
    return text;
  }

  Groups site_;
  Placement placement_{site_};
  std::map<RevisionId, std::vector<ReplicaAt>> replicas_;
  std::map<RevisionId, model::PlacementWish> wishes_;
  bool forced_ = false;
  TimePoint now_{seconds{1'000'000}};
};

TEST_F(PlacementTest, GrowthGoesToTheMostLikedPlaceFirst) {
  EXPECT_EQ(run(kShop, 3), "fast 3");
  EXPECT_EQ(run(kShop, 6), "fast 4, slow 2");
  EXPECT_EQ(run(kPay, 2), "slow 2");
}

TEST_F(PlacementTest, TheLeastLikedPlaceLosesReplicasFirst) {
  EXPECT_EQ(run(kShop, 6), "fast 4, slow 2");
  EXPECT_EQ(shown(ask(kShop, 5)), "fast 4, slow 1");
  EXPECT_EQ(run(kShop, 3), "fast 3");
  EXPECT_EQ(run(kShop, 0), "");
}

TEST_F(PlacementTest, AReplicaThatIsToGoIsKeptBeforeAnotherIsStarted) {
  EXPECT_EQ(run(kShop, 6), "fast 4, slow 2");
  for (ReplicaAt& each : replicas_[kShop]) each.chosen = each.node == "slow";
  EXPECT_EQ(shown(ask(kShop, 5)), "fast 4, slow 1");
}

TEST_F(PlacementTest, AReplicaThatLeavesHoldsItsRoomUntilItHasGone) {
  EXPECT_EQ(run(kShop, 4), "fast 4");
  replicas_[kShop].front().leaving = true;
  EXPECT_EQ(shown(ask(kShop, 3)), "fast 3");
  EXPECT_EQ(shown(ask(kPay, 1)), "slow 1");
  EXPECT_EQ(shown(ask(kPay, 0)), "");
  replicas_[kShop].erase(replicas_[kShop].begin());
  EXPECT_EQ(shown(ask(kShop, 3)), "fast 3");
  EXPECT_EQ(shown(ask(kPay, 1)), "fast 1");
}

// E70.
TEST_F(PlacementTest, TheTwentyFifthOfManyServicesSeesThatTheRoomIsGone) {
  for (int i = 0; i < 24; ++i) {
    EXPECT_FALSE(ask({"default", "s" + std::to_string(i)}, 1).missing) << i;
  }
  EXPECT_EQ(shown(ask(kShop, 1)),
            "1 missing: fast is full: 4 of 4 replicas; slow is full: 20 of 20 replicas");
}

TEST_F(PlacementTest, EveryMissingReplicaHasAReason) {
  EXPECT_EQ(run(kShop, 30),
            "fast 4, slow 20; 6 missing: fast is full: 4 of 4 replicas; slow is "
            "full: 20 of 20 replicas");
  EXPECT_EQ(ask(kShop, 30).missing->reason, Reason::slots);
}

// E05.
TEST_F(PlacementTest, AWishThatNoPlaceMeetsIsRefusedWithThePlacesThereAre) {
  wishes_[kShop].where.labels["gpu"] = "yes";
  const Grant grant = ask(kShop, 1);
  EXPECT_EQ(shown(grant), "1 missing: no place matches: labels gpu=yes; there are fast, slow");
  EXPECT_EQ(grant.missing->reason, Reason::no_matching_place);
}

// E72.
TEST_F(PlacementTest, APlaceThatDoesNotExistIsNamedWithTheNearestOne) {
  wishes_[kShop].clusters = {"fas"};
  EXPECT_EQ(shown(ask(kShop, 1)),
            "1 missing: no place matches: clusters fas (did you mean fast?); "
            "there are fast, slow");
}

TEST_F(PlacementTest, ThePlacesThatAServiceNamesWinOverThePreferenceOfPlaces) {
  wishes_[kShop].clusters = {"slow", "fast"};
  EXPECT_EQ(run(kShop, 22), "slow 20, fast 2");
}

// E61.
TEST_F(PlacementTest, APinnedServiceGoesNowhereElse) {
  wishes_[kShop].pin = "fast";
  EXPECT_EQ(run(kShop, 6), "fast 4; 2 missing: fast is full: 4 of 4 replicas");
}

TEST_F(PlacementTest, ANumberChosenByHandIsGrantedWhateverRoomThereIs) {
  forced_ = true;
  EXPECT_EQ(run(kShop, 6), "fast 6");
}

TEST_F(PlacementTest, AStartNeedsRoomAndAYesOfTheGate) {
  site_.gate_open = false;
  const Grant grant = ask(kShop, 2);
  EXPECT_EQ(grant.replicas, 0);
  EXPECT_EQ(grant.missing->reason, Reason::gate);
  EXPECT_FALSE(placement_.ledger().next_expiry());
}

// E66.
TEST_F(PlacementTest, AMillionReplicasAreCutToWhatThereIs) {
  const Grant grant = ask(kShop, 1'000'000);
  EXPECT_EQ(grant.replicas, 24);
  EXPECT_EQ(grant.missing->count, 999'976);
}

TEST_F(PlacementTest, ARevisionThatIsGoneHoldsNothing) {
  EXPECT_EQ(run(kShop, 4), "fast 4");
  placement_.forget(kShop);
  EXPECT_EQ(run(kPay, 4), "fast 4");
}

TEST_F(PlacementTest, APlaceIsShownWithItsTenants) {
  EXPECT_EQ(run(kShop, 6), "fast 4, slow 2");
  EXPECT_EQ(run(kPay, 1), "slow 1");
  const auto views = placement_.view();
  ASSERT_EQ(views.size(), 2U);
  EXPECT_EQ(views[0].place->name, "fast");
  EXPECT_EQ(views[0].hole.slots, 0);
  ASSERT_EQ(views[1].tenants.size(), 2U);
  EXPECT_EQ(views[1].tenants[0].revision, kShop);
  EXPECT_EQ(views[1].tenants[1].revision, kPay);
}

}  // namespace
}  // namespace sluice::placement
