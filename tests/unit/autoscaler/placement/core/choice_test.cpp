#include "autoscaler/placement/core/choice.h"

#include "autoscaler/placement/core/words.h"
#include "tests/unit/autoscaler/placement/core/scene.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace sluice::placement {
namespace {

constexpr Resources kSmall{.cpu = 500, .memory = 256 * kMebibyte, .slots = 1};

model::PlacementWish labelled(const std::string& expression) {
  return {.where = *model::parse_selector(expression)};
}

TEST(PlaceOrder, FollowsThePreferenceOfThePlaces) {
  Scene scene;
  scene.place("slow", {.preference = 1, .capacity = {kUnbounded, kUnbounded, 1}});
  scene.place("fast", {.preference = 0, .capacity = {kUnbounded, kUnbounded, 1}});
  scene.service("shop");

  EXPECT_EQ(scene.start("shop"), "fast");
  EXPECT_EQ(scene.start("shop"), "slow");
}

TEST(PlaceOrder, TheServicesOwnOrderCountsMoreThanThePreferenceOfThePlaces) {
  Scene scene;
  scene.place("fast", {.preference = 0, .capacity = {kUnbounded, kUnbounded, 1}});
  scene.place("slow", {.preference = 1, .capacity = {kUnbounded, kUnbounded, 1}});
  scene.place("spare", {.preference = 2, .capacity = {kUnbounded, kUnbounded, 1}});
  scene.service("batch", {.wish = {.clusters = {"slow", "fast"}}});
  scene.service("night", {.wish = {.clusters = {"spare"}, .any = true}});

  EXPECT_EQ(scene.choose("batch"), "slow");
  EXPECT_EQ(scene.demand("batch").order->entries().size(), 2U);
  EXPECT_EQ(scene.start("night"), "spare");
  EXPECT_EQ(scene.start("night"), "fast");
}

// All 7 constraints of the document on its 3 clusters.
TEST(PlaceOrder, LabelExpressionsMatchExactlyThePlacesThatHaveTheLabel) {
  const std::vector<std::string> labels{"A", "B", "C", "AB", "AC", "BC", "ABC"};
  Scene scene;
  for (const std::string cluster : {"A", "B", "C"}) {
    Scene::PlaceForm form;
    for (const std::string& label : labels) {
      if (label.find(cluster) != std::string::npos) form.labels[label] = "";
    }
    scene.place(cluster, form);
  }
  for (const std::string& label : labels) {
    std::string matched;
    const PlaceOrder order{scene.ledger(), labelled(label)};
    for (const auto& entry : order.entries()) matched += scene.ledger().place(entry.place).name;
    EXPECT_EQ(matched, label);
  }
}

TEST(PlaceOrder, IsOutdatedOnceAPlaceChanges) {
  Scene scene;
  scene.place("fast", {});
  const PlaceOrder order{scene.ledger(), {}};
  EXPECT_FALSE(order.outdated(scene.ledger()));

  scene.set_preference("fast", 3);

  EXPECT_TRUE(order.outdated(scene.ledger()));
}

TEST(PlaceOrder, WhatIsLikedMoreIsAboveATier) {
  Scene scene;
  scene.place("fast", {.preference = 0});
  scene.place("slow", {.preference = 1});
  const PlaceOrder order{scene.ledger(), {}};

  EXPECT_EQ(order.above(1).entries().size(), 1U);
  EXPECT_TRUE(order.above(0).entries().empty());
}

TEST(Choice, OfEqualPlacesTheLeastLoadedIsTaken) {
  Scene scene;
  scene.place("a", {.capacity = {2000, kGibibyte, 10}});
  scene.place("b", {.capacity = {2000, kGibibyte, 10}});
  scene.service("shop", {.need = kSmall});

  EXPECT_EQ(scene.start("shop"), "a");
  EXPECT_EQ(scene.start("shop"), "b");
}

TEST(Choice, PackingFillsTheFullestNodeThatHasRoom) {
  Scene scene;
  scene.place("fleet", {.capacity = {1000, kGibibyte, 10}, .nodes = 3, .packing = Packing::pack});
  scene.service("shop", {.need = kSmall});

  EXPECT_EQ(scene.start("shop"), "fleet/0");
  EXPECT_EQ(scene.start("shop"), "fleet/0");
  EXPECT_EQ(scene.start("shop"), "fleet/1");
}

TEST(Choice, TiesGoToTheNodeWithFewerReplicasOfTheServiceThenToTheLowerId) {
  Scene scene;
  scene.place("fleet", {.nodes = 2});
  scene.service("shop");

  EXPECT_EQ(scene.start("shop"), "fleet/0");
  EXPECT_EQ(scene.start("shop"), "fleet/1");
  EXPECT_EQ(scene.start("shop"), "fleet/0");
}

TEST(Choice, ANodeUnderPressureTakesNothing) {
  Scene scene;
  scene.place("fleet", {.nodes = 2});
  scene.service("shop");
  Node node = scene.ledger().node(scene.node("fleet"));
  node.pressure = Pressure::high;
  scene.ledger().update_node(scene.node("fleet"), node);

  EXPECT_EQ(scene.choose("shop"), "fleet/1");
}

TEST(Choice, TheGateIsAskedLastAndOfTheNextNodeAfterANo) {
  Scene scene;
  scene.place("a", {.preference = 0});
  scene.place("b", {.preference = 1});
  scene.service("shop");
  std::string asked;
  const Gate gate = [&](NodeId node, const Resources&) {
    asked += scene.ledger().node(node).name + " ";
    return GateAnswer{.granted = node == scene.node("b"), .free = 1, .claim = 2};
  };

  EXPECT_EQ(placement::choose(scene.ledger(), scene.demand("shop"), gate).place,
            scene.place_id("b"));
  EXPECT_EQ(asked, "a/0 b/0 ");
}

TEST(Choice, GatesOfManyNodesAreAskedUntilOneAdmits) {
  Scene scene;
  scene.place("fleet", {.capacity = {1000, kGibibyte, 10}, .nodes = 300});
  scene.service("shop", {.need = kSmall});
  const NodeId open = scene.node("fleet", 287);
  const Gate gate = [&](NodeId node, const Resources&) {
    return GateAnswer{.granted = node == open};
  };

  EXPECT_EQ(placement::choose(scene.ledger(), scene.demand("shop"), gate).node, open);
}

// Goal: the index finds a hole if and only if there is one, whatever is full.
// Method: a fleet filled at random, compared with a look at every node.
TEST(Choice, FindsAHoleAmongManyNodesIfThereIsOne) {
  for (const Packing packing : {Packing::spread, Packing::pack}) {
    Scene scene;
    scene.place("fleet", {.capacity = {4000, 8 * kGibibyte, 20}, .nodes = 700, .packing = packing});
    std::uint32_t number = 1;
    const auto next = [&number](std::uint32_t bound) {
      number = number * 1'664'525 + 1'013'904'223;
      return static_cast<std::int64_t>((number >> 8U) % bound);
    };
    for (int at = 0; at < 4000; ++at) {
      const std::string name = "s" + std::to_string(at);
      const Resources need{next(9) * 250, next(9) * 512 * kMebibyte, 1};
      scene.service(name, {.need = need});
      bool there = false;
      for (const NodeId node : scene.ledger().nodes(scene.place_id("fleet"))) {
        there = there || fits(need, scene.ledger().free(node));
      }
      const Choice choice = placement::choose(scene.ledger(), scene.demand(name));
      ASSERT_EQ(choice.node.has_value(), there) << at;
      if (!choice.node) continue;
      ASSERT_TRUE(fits(need, scene.ledger().free(*choice.node)));
      scene.ledger().take(*choice.node, scene.id(name), need);
    }
    EXPECT_EQ(scene.ledger().problem(), "");
  }
}

TEST(Choice, EqualLedgersGiveEqualChoicesWhateverTheirPast) {
  Scene past;
  Scene fresh;
  for (Scene* scene : {&past, &fresh}) {
    scene->place("fleet", {.capacity = {1000, kGibibyte, 10}, .nodes = 100});
    scene->service("shop", {.need = kSmall});
    scene->service("other", {.need = kSmall});
  }
  past.run("other", "fleet", 150);
  past.end("other", "fleet", 150);

  for (int at = 0; at < 120; ++at) EXPECT_EQ(past.start("shop"), fresh.start("shop"));
}

}  // namespace
}  // namespace sluice::placement
