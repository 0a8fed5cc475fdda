#include "autoscaler/placement/core/evacuation.h"

#include "autoscaler/placement/core/home.h"
#include "tests/unit/autoscaler/placement/core/scene.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace sluice::placement {
namespace {

using namespace std::chrono_literals;

Resources slots(std::int64_t count) {
  return {kUnbounded, kUnbounded, count};
}

std::string text(const Scene& scene, const Evacuation& evacuation) {
  std::string all;
  for (const PlannedMove& move : evacuation.moves) all += scene.text(move) + ", ";
  for (const auto& each : evacuation.remaining) {
    all += scene.find(each.service)->name + " " + std::string{name(each.reason)} + ", ";
  }
  return all + (evacuation.more ? "more" : "all");
}

class Drained : public ::testing::Test {
 protected:
  Drained() {
    scene_.place("fast", {.preference = 0, .capacity = slots(20)});
    scene_.place("slow", {.preference = 1, .capacity = slots(8)});
    for (const char* name : {"a", "b", "c"}) {
      scene_.service(name);
      scene_.run(name, "fast", 2);
    }
    scene_.set_state("fast", PlaceState::draining);
  }

  [[nodiscard]] std::string evacuated(std::int32_t replicas_max,
                                      std::int64_t starts_max = kUnbounded) {
    (void)scene_.demand("a");
    scene_.parameters().begin_cycle();
    return text(scene_, evacuate(scene_.ledger(), scene_, scene_.parameters(), scene_.policy,
                                 scene_.place_id("fast"),
                                 {.replicas_max = replicas_max, .starts_max = starts_max}));
  }

  Scene scene_;
};

TEST_F(Drained, LeavesInBatches) {
  EXPECT_EQ(evacuated(4), "a fast->slow, b fast->slow, more");
  EXPECT_EQ(evacuated(10), "a fast->slow, b fast->slow, c fast->slow, all");
  EXPECT_EQ(evacuated(1), "a fast->slow, more");
}

TEST_F(Drained, WhatCannotLeaveStaysWithItsReason) {
  scene_.facts("a").movable = false;
  scene_.service("only", {.wish = {.clusters = {"fast"}}});
  scene_.run("only", "fast");
  scene_.service("crowd");
  scene_.run("crowd", "slow", 5);

  EXPECT_EQ(evacuated(10), "b fast->slow, a pinned, c no_room, only no_match, all");
  EXPECT_EQ(scene_.ledger().problem(), "");
}

TEST_F(Drained, WhatMovesAlreadyIsCountedApart) {
  scene_.facts("a").moving = true;

  scene_.parameters().begin_cycle();
  const Evacuation found = evacuate(scene_.ledger(), scene_, scene_.parameters(), scene_.policy,
                                    scene_.place_id("fast"), {.replicas_max = 10});

  EXPECT_EQ(found.moving, 1);
  EXPECT_EQ(found.moves.size(), 2U);
}

TEST_F(Drained, AgeDoesNotCount) {
  scene_.facts("a").started = scene_.now;

  EXPECT_EQ(evacuated(2), "a fast->slow, more");
}

TEST_F(Drained, WhatHasMoreReplicasThanMayBeStartedStays) {
  scene_.service("d");
  scene_.run("d", "fast", 1);

  EXPECT_EQ(evacuated(10, 3), "a fast->slow, d fast->slow, b no_starts, c no_starts, all");
  EXPECT_EQ(evacuated(10, 0), "a no_starts, b no_starts, c no_starts, d no_starts, all");
}

class ByHand : public Drained {
 protected:
  [[nodiscard]] bool fits(const std::vector<std::string>& froms, const std::string& to) {
    std::vector<Source> sources;
    for (const std::string& from : froms) {
      sources.push_back({.service = scene_.id("a"), .place = scene_.place_id(from)});
    }
    const auto moves = move_to(scene_.ledger(), scene_, sources, scene_.place_id(to));
    EXPECT_EQ(scene_.ledger().problem(), "");
    return moves && moves->size() == froms.size();
  }
};

TEST_F(ByHand, AServiceGoesWhereItIsSentIfThereIsRoom) {
  EXPECT_TRUE(fits({"fast"}, "slow"));

  scene_.service("crowd");
  scene_.run("crowd", "slow", 7);
  EXPECT_FALSE(fits({"fast"}, "slow"));
  EXPECT_FALSE(fits({"fast"}, "fast"));
}

TEST_F(ByHand, TheRoomForWhatComesFromSeveralPlacesIsProvenTogether) {
  scene_.place("other", {.preference = 2, .capacity = slots(8)});
  scene_.run("a", "other", 2);
  scene_.service("crowd");
  scene_.run("crowd", "slow", 4);
  EXPECT_TRUE(fits({"fast", "other"}, "slow"));

  scene_.run("crowd", "slow", 1);  // room for 3
  EXPECT_TRUE(fits({"fast"}, "slow"));
  EXPECT_TRUE(fits({"other"}, "slow"));
  EXPECT_FALSE(fits({"fast", "other"}, "slow"));
}

class Home : public ::testing::Test {
 protected:
  Home() {
    scene_.place("fast", {.preference = 0, .capacity = {4000, kUnbounded, 4}});
    scene_.place("slow", {.preference = 1});
    scene_.service("crowd", {.need = {.cpu = 1000, .slots = 1}});
    scene_.run("crowd", "fast", 4);
    for (const char* name : {"shop", "pay"}) {
      scene_.service(name, {.need = {.cpu = 500, .slots = 1}});
      scene_.run(name, "slow");
    }
  }

  std::string look() {
    scene_.parameters().begin_cycle();
    const std::vector<ServiceId> services{scene_.id("crowd"), scene_.id("shop"), scene_.id("pay")};
    std::string all;
    for (const PlannedMove& move : watch_.look(scene_.ledger(), scene_, scene_.parameters(),
                                               services, {}, scene_.limits, scene_.now)) {
      all += scene_.text(move) + ", ";
    }
    return all;
  }

  std::string look_after(Duration later) {
    scene_.now += later;
    return look();
  }

  Scene scene_;
  HomeWatch watch_;
};

TEST_F(Home, AServiceComesHomeAfterItsRoomHasLasted) {
  scene_.end("crowd", "fast", 2);

  EXPECT_EQ(look(), "");
  EXPECT_EQ(watch_.due(scene_.id("shop"), {}), scene_.now + 10min);
  EXPECT_EQ(look_after(9min), "");
  EXPECT_EQ(look_after(1min), "shop slow->fast, ");
}

TEST_F(Home, OneServiceAMinuteComesIntoAPlace) {
  scene_.end("crowd", "fast", 2);
  EXPECT_EQ(look(), "");
  EXPECT_EQ(look_after(10min), "shop slow->fast, ");
  scene_.end("shop", "slow");
  scene_.run("shop", "fast");

  EXPECT_EQ(look_after(59s), "");
  EXPECT_EQ(look_after(1s), "pay slow->fast, ");
}

// E68
TEST_F(Home, RoomThatIsThereOnlyBrieflyMovesNothingAndIsCounted) {
  scene_.end("crowd", "fast", 2);
  EXPECT_EQ(look(), "");
  scene_.run("crowd", "fast", 2);
  EXPECT_EQ(look_after(5min), "");
  scene_.end("crowd", "fast", 2);

  EXPECT_EQ(look_after(5min), "");
  EXPECT_EQ(watch_.suppressed(), 2);
  EXPECT_EQ(look_after(10min), "shop slow->fast, ");
}

TEST_F(Home, RoomWithoutATenthToSpareIsTooLittle) {
  scene_.service("filler", {.need = {.cpu = 480, .slots = 1}});
  scene_.end("crowd", "fast", 1);
  scene_.facts("pay").movable = false;
  scene_.service("rest", {.need = {.cpu = 460}});
  scene_.ledger().take(scene_.node("fast"), scene_.id("rest"), {.cpu = 460});

  EXPECT_EQ(look(), "");
  EXPECT_EQ(watch_.due(scene_.id("shop"), {}), std::nullopt);
}

TEST_F(Home, AServiceThatCarriesNearlyAllRequestsStaysWhereItIs) {
  for (int at = 0; at < 40; ++at) {
    const std::string name = "idle" + std::to_string(at);
    scene_.service(name, {.wish = {.clusters = {"slow"}}});
    scene_.run(name, "slow");
  }
  scene_.measures("shop").in_flight = 1000;
  scene_.facts("pay").movable = false;
  scene_.end("crowd", "fast", 2);

  EXPECT_EQ(look(), "");
  EXPECT_EQ(look_after(20min), "");
}

}  // namespace
}  // namespace sluice::placement
