#include "autoscaler/placement/core/words.h"

#include "autoscaler/placement/core/explain.h"
#include "tests/unit/autoscaler/placement/core/scene.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

namespace sluice::placement {
namespace {

using namespace std::chrono_literals;

std::string why(Scene& scene, const std::string& service, const Naming& naming) {
  return why_no_node(scene.ledger(), scene.demand(service), {}, naming);
}

LikedPlace liked_place(Scene& scene, const std::string& service, const std::string& in,
                       LikedQuestion question = {}) {
  Demand demand = scene.demand(service);
  const PlaceOrder better = demand.order->above(*demand.order->tier_of(scene.place_id(in)));
  Demand wanted = demand;
  wanted.order = &better;
  scene.parameters().begin_cycle();
  Planner planner{scene.ledger(), scene, scene.parameters()};
  const PlanOutcome outcome =
      planner.plan({.demand = wanted}, scene.policy, scene.limits, scene.now);
  question.demand = demand;
  question.in = scene.place_id(in);
  question.outcome = &outcome;
  question.limits = scene.limits;
  return explain_liked(scene.ledger(), scene, question, scene.now);
}

std::string liked(Scene& scene, const std::string& service, const std::string& in,
                  const LikedQuestion& question = {}) {
  return liked_place(scene, service, in, question).why;
}

TEST(Words, ShortageOfMemoryNamesFreeAndNeededMemory) {
  EXPECT_EQ(memory_shortage(212 * kMebibyte + 5, 256 * kMebibyte),
            "no memory: 212 MiB free, needs 256 MiB");
  EXPECT_EQ(memory_shortage(64 * kMebibyte - 1, 63 * kMebibyte + 1),
            "no memory: 63 MiB free, needs 64 MiB");
  EXPECT_EQ(memory_shortage(-1, 1), "no memory: 0 MiB free, needs 1 MiB");
}

TEST(Words, AmountsReadAsAPersonWritesThem) {
  EXPECT_EQ(cpu_text(250), "0.25");
  EXPECT_EQ(cpu_text(2000), "2");
  EXPECT_EQ(memory_text(kGibibyte), "1 GiB");
  EXPECT_EQ(memory_text(612 * kMebibyte + 7), "612 MiB");
}

TEST(Words, TheOnlyPlaceIsNotNamed) {
  Scene scene;
  scene.place("local", {.capacity = {kUnbounded, kUnbounded, 2}});
  scene.service("shop");
  scene.run("shop", "local", 2);

  EXPECT_EQ(why(scene, "shop", {.only_place = true, .slots_words = "max-replicas 2 reached"}),
            "max-replicas 2 reached");
}

TEST(Words, EachPlaceIsNamedWithWhatItIsShortOf) {
  Scene scene;
  scene.place("fast", {.preference = 0, .capacity = {kUnbounded, kUnbounded, 4}});
  scene.place("slow", {.preference = 1, .capacity = {kUnbounded, 320 * kMebibyte, 20}});
  scene.place("third", {.preference = 2, .capacity = {1200, kUnbounded, 20}});
  scene.service("other", {.need = {.cpu = 1000, .slots = 1}});
  scene.run("other", "fast", 4);
  scene.run("other", "third", 1);
  scene.service("shop", {.need = {.cpu = 250, .memory = 256 * kMebibyte, .slots = 1}});
  scene.run("shop", "slow", 1);

  EXPECT_EQ(scene.choose("shop"),
            "no: fast is full: 4 of 4 replicas; slow has no memory: 64 MiB free, needs 256 MiB; "
            "third has no CPU: 0.2 free, needs 0.25");
}

TEST(Words, AGateIsQuotedLikeAFullPlace) {
  Scene scene;
  scene.place("local", {});
  scene.service("shop");
  const Gate gate = [](NodeId, const Resources&) {
    return GateAnswer{.granted = false, .free = 212 * kMebibyte, .claim = 256 * kMebibyte};
  };

  EXPECT_EQ(scene.choose("shop", gate), "no: no memory: 212 MiB free, needs 256 MiB");
}

TEST(Words, TheNearestNameIsOfferedForAPlaceThatDoesNotExist) {
  Scene scene;
  scene.place("fast", {});
  scene.place("slow", {});

  EXPECT_EQ(no_match_words(scene.ledger(), {.clusters = {"fas"}}),
            "no place matches: clusters fas (did you mean fast?); there are fast, slow");
  EXPECT_EQ(no_match_words(scene.ledger(), {.pin = "moon"}),
            "no place matches: pin moon (no such place); there are fast, slow");
}

TEST(Explain, NamesWhatWouldMakeRoomAndSinceWhenItMayMove) {
  Scene scene;
  scene.place("fast", {.preference = 0, .capacity = {kUnbounded, kUnbounded, 4}});
  scene.place("slow", {.preference = 1});
  scene.service("pay");
  scene.service("shop");
  scene.run("pay", "fast");
  scene.run("shop", "fast", 3);
  scene.run("shop", "slow", 2);
  scene.facts("pay").started = scene.now - 12s;

  const LikedPlace found = liked_place(scene, "shop", "slow");
  EXPECT_EQ(found.why,
            "fast has 4 of its 4 replicas; moving 1 service would make room: pay was started 12 s "
            "ago (may move from 60 s on)");
  EXPECT_EQ(found.next.at, scene.now + 48s);
  EXPECT_EQ(found.next.places, std::vector{scene.place_id("fast")});
}

TEST(Explain, WithoutAnythingThatEndsByItselfOnlyAReplicaThatEndsChangesTheAnswer) {
  Scene scene;
  scene.place("fast", {.preference = 0, .capacity = {kUnbounded, kUnbounded, 1}});
  scene.place("slow", {.preference = 1});
  scene.service("pay");
  scene.service("shop");
  scene.run("pay", "fast");
  scene.run("shop", "slow");
  scene.facts("pay").movable = false;

  const LikedPlace found = liked_place(scene, "shop", "slow");
  EXPECT_EQ(found.why, "fast has 1 of its 1 replica; no other service there may be moved");
  EXPECT_EQ(found.next.at, std::nullopt);
  EXPECT_EQ(found.next.places, std::vector{scene.place_id("fast")});
}

class RoomAtHome : public ::testing::Test {
 protected:
  RoomAtHome() {
    scene_.place("fast", {.preference = 0, .capacity = {kUnbounded, kUnbounded, 1}});
    scene_.place("mid", {.preference = 1});
    scene_.place("slow", {.preference = 2});
    scene_.service("shop");
    scene_.run("shop", "slow", 2);
    scene_.facts("shop").started = scene_.now - 5min;
  }

  Scene scene_;
};

TEST_F(RoomAtHome, TheTimeLeftOfTheHoldIsShownAndNotTheWholeHold) {
  const LikedPlace found = liked_place(scene_, "shop", "slow", {.due = scene_.now + 431s + 1ms});
  EXPECT_EQ(found.why, "fast has room: it moves there in 432 s if that lasts");
  EXPECT_EQ(found.next.at, scene_.now + 431s + 1ms);
  EXPECT_TRUE(found.next.places.empty());
}

TEST_F(RoomAtHome, RoomForOneReplicaIsNotCalledRoomForAll) {
  EXPECT_EQ(liked(scene_, "shop", "slow"),
            "fast has room for a replica: it moves there once there has been room for all of its "
            "replicas, and a tenth to spare, for 600 s");
}

TEST_F(RoomAtHome, WhatKeepsAServiceFromItIsNamed) {
  const std::vector<Barred> barred{{.place = scene_.place_id("fast"), .until = scene_.now + 30min}};
  const LikedPlace found = liked_place(scene_, "shop", "slow", {.barred = barred});
  EXPECT_EQ(found.why,
            "fast has room, but the service could not be moved there (tried again in 1800 s)");
  EXPECT_EQ(found.next.at, scene_.now + 30min);
  EXPECT_EQ(liked(scene_, "shop", "slow", {.due = scene_.now}),
            "fast has room: it moves there after the service that went there last, unless that "
            "would disturb more than it brings");
  scene_.facts("shop").started = scene_.now - 12s;
  EXPECT_EQ(liked(scene_, "shop", "slow"),
            "fast has room, but the service was started 12 s ago (may move from 60 s on)");
  scene_.facts("shop").movable = false;
  EXPECT_EQ(liked(scene_, "shop", "slow"), "fast has room, but the service may not be moved");
}

TEST_F(RoomAtHome, APlaceThatIsLikedLessAndHasRoomIsNamedAfterTheOneThatIsFull) {
  scene_.service("pay");
  scene_.run("pay", "fast");

  const LikedPlace found = liked_place(scene_, "shop", "slow", {.due = scene_.now + 10min});
  EXPECT_EQ(found.why,
            "fast has 1 of its 1 replica; mid has room: it moves there in 600 s if that lasts");
  EXPECT_EQ(found.place, scene_.place_id("fast"));
}

TEST_F(RoomAtHome, APlaceThatCouldNeverHoldAReplicaIsNotSaidToHaveRoom) {
  scene_.service("large", {.need = {.memory = kGibibyte, .slots = 1}});
  scene_.place("tiny", {.preference = -1, .capacity = {kUnbounded, kMebibyte, 1}});
  scene_.run("large", "fast");

  EXPECT_EQ(liked_place(scene_, "large", "fast").place, std::nullopt);
}

TEST(Explain, TheMovesThatMakeRoomAreNamedWithTheirStates) {
  EXPECT_EQ(room_words({}), "");
  const std::vector<MoveRecord> moves{
      {.service = "pay", .from = "fast", .to = "slow", .state = MoveState::warming},
      {.service = "cart", .from = "fast", .to = "mid"}};
  EXPECT_EQ(room_words(moves),
            "room is being made in fast: pay -> slow (warming), cart -> mid (planned)");
}

TEST(Explain, NamesTheMovesOfAPlan) {
  Scene scene;
  scene.place("fast", {.preference = 0, .capacity = {kUnbounded, kUnbounded, 1}});
  scene.place("slow", {.preference = 1});
  scene.service("pay");
  scene.service("shop");
  scene.run("pay", "fast");
  scene.run("shop", "slow");

  EXPECT_EQ(
      liked(scene, "shop", "slow"),
      "fast has 1 of its 1 replica; moving 1 service would make room, which is not done for a "
      "replica that has a place: pay to slow");
}

TEST(Explain, AServiceInItsMostLikedPlaceHasNothingToExplain) {
  Scene scene;
  scene.place("fast", {.preference = 0});
  scene.place("slow", {.preference = 1});
  scene.service("shop");
  scene.run("shop", "fast");

  EXPECT_EQ(liked(scene, "shop", "fast"), "");
}

TEST(Explain, APlaceThatIsBeingDrainedIsNamedAsSuch) {
  Scene scene;
  scene.place("fast", {.preference = 0});
  scene.place("slow", {.preference = 1});
  scene.service("shop");
  scene.run("shop", "slow");
  scene.set_state("fast", PlaceState::draining);

  EXPECT_EQ(liked(scene, "shop", "slow"), "fast is being drained");
}

}  // namespace
}  // namespace sluice::placement
