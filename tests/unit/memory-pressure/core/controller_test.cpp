#include "memory-pressure/core/controller.h"

#include "tests/unit/memory-pressure/core/scene.h"

#include <gtest/gtest.h>

#include "memory-pressure/core/quota.h"
#include <utility>

namespace sluice::node_agent {
namespace {

using namespace std::chrono_literals;

PolicySettings settings() {
  PolicySettings settings;
  settings.policy = PolicyKind::headroom;
  settings.reserve = 0;
  return settings;
}

/// `a:10003 b:-1`: the quotas that are to be sent.
std::string sent(const std::vector<Action>& actions) {
  std::string text;
  for (const Action& action : actions) {
    const auto* update = std::get_if<Update>(&action);
    if (update == nullptr) continue;
    text += (text.empty() ? "" : " ") + update->id + ":" + std::to_string(update->quota.quota_us);
  }
  return text;
}

/// A runtime that does at once what is asked; answers what was sent.
std::string obey(MemoryController& controller, Scene& scene, const std::vector<Action>& actions) {
  for (const Action& action : actions) {
    if (const auto* update = std::get_if<Update>(&action)) {
      scene[update->id].quota = update->quota;
      const auto more = controller.answered(update->call, Outcome::ok, scene.seen.now);
      (void)obey(controller, scene, more);
    } else if (const auto* read = std::get_if<ReadBack>(&action)) {
      (void)controller.read_back(read->call, scene[read->id].quota, scene.seen.now);
    }
  }
  return sent(actions);
}

/// Two that fill the node beyond the bound; the younger, `b`, is throttled first.
Scene pressed() {
  Scene scene;
  scene.used(960).add("a", 400, 800, 60'000).quota = kUnlimited;
  scene.add("b", 400, 800, 30'000).quota = CpuQuota{50'000, 100'000};
  return scene;
}

TEST(MemoryController, ADecisionIsSentAndUndoneWhenItsReasonIsGone) {
  Scene scene = pressed();
  MemoryController controller{{.policy = settings()}};

  EXPECT_EQ(obey(controller, scene, controller.observe(scene.seen)), "b:2503");
  ASSERT_EQ(controller.held().size(), 1U);
  EXPECT_EQ(controller.held().front().container.id, "b");

  EXPECT_EQ(obey(controller, scene, controller.observe(scene.used(300).after(1000).seen)),
            "b:50000");
  (void)controller.observe(scene.after(50).seen);
  EXPECT_TRUE(controller.held().empty());
}

TEST(MemoryController, SwitchedOffItReleasesAtOnceAndThrottlesNothingUntilItIsOnAgain) {
  Scene scene = pressed();
  MemoryController controller{{.policy = settings()}};
  (void)obey(controller, scene, controller.observe(scene.seen));

  controller.switch_on(false);
  EXPECT_EQ(controller.next_sample(), 20ms) << "while something is not given back";
  EXPECT_EQ(obey(controller, scene, controller.observe(scene.after(50).seen)), "b:50000");
  (void)controller.observe(scene.after(50).seen);
  EXPECT_TRUE(controller.is_restored());
  EXPECT_EQ(controller.decision().admit_bytes, kAdmitAnything);

  controller.switch_on(true);
  for (int i = 0; i < 100; ++i)
    (void)obey(controller, scene, controller.observe(scene.after(250).seen));
  EXPECT_EQ(controller.held().size(), 1U);
}

// The group of an ended container lives on until it is removed, with next to nothing in use.
TEST(MemoryController, GroupWithoutAProcessIsNoContainer) {
  Scene scene = pressed();
  scene["b"].processes = 0;
  MemoryController controller{{.policy = settings()}};
  EXPECT_EQ(sent(controller.observe(scene.seen)), "");
  EXPECT_EQ(controller.seen().containers.size(), 1U);
}

TEST(MemoryController, PolicyOffDoesNothingAndReportsHowFullTheNodeIs) {
  Scene scene = pressed();
  PolicySettings off = settings();
  off.policy = PolicyKind::off;
  MemoryController controller{{.policy = off}};
  const std::pair<int, std::string> said[] = {
      {900, "ok [] any"}, {901, "high [] any"}, {980, "critical [] any"}};
  for (const auto& [used, shows] : said) {
    EXPECT_EQ(sent(controller.observe(scene.used(used).seen)), "");
    EXPECT_EQ(shown(controller.decision()), shows);
  }
  controller.switch_on(true);
  EXPECT_EQ(sent(controller.observe(scene.after(250).seen)), "");
}

TEST(MemoryController, ThrottlesInTheJournalOfAnEarlierProcessAreReleased) {
  Scene scene;
  scene.used(300).add("a", 100, 200).quota = CpuQuota{2503, 100'000};
  MemoryController controller{{.policy = settings(), .boot_id = "boot"}};
  const std::string journal = encode({.kind = RecordKind::throttle,
                                      .boot_id = "boot",
                                      .id = "a",
                                      .original = {30'000, 100'000},
                                      .ours = {2503, 100'000}});

  EXPECT_EQ(controller.take_over(journal, scene.seen).ours.size(), 1U);

  EXPECT_EQ(obey(controller, scene, controller.observe(scene.seen)), "a:30000");
}

TEST(MemoryController, QuotaOfOursWithoutARecordIsLeftToItsOwnerUnlessTheJournalIsTorn) {
  Scene scene;
  scene.used(300).add("a", 100, 200).quota = CpuQuota{2503, 100'000};
  const MemoryController::Options guardians{.policy = settings(), .strays = false};
  MemoryController intact{guardians};
  MemoryController torn{guardians};

  (void)intact.take_over("", scene.seen);
  (void)torn.take_over("torn", scene.seen);

  EXPECT_EQ(sent(intact.observe(scene.seen)), "");
  EXPECT_EQ(sent(torn.observe(scene.seen)), "a:-1");
}

TEST(MemoryController, SamplesFasterWhenItMatters) {
  Scene scene;
  scene.add("a", 100, 200).marks.never = true;
  MemoryController controller{{.policy = settings()}};
  (void)controller.observe(scene.used(840).seen);
  EXPECT_EQ(controller.next_sample(), 250ms);
  (void)controller.observe(scene.used(841).seen);
  EXPECT_EQ(controller.next_sample(), 50ms);
  EXPECT_TRUE(controller.is_hurried());
  (void)controller.observe(scene.used(100).seen);
  EXPECT_EQ(controller.next_sample(), 250ms);
  EXPECT_FALSE(controller.is_hurried());
  scene.seen.memory.reset();
  (void)controller.observe(scene.seen);
  EXPECT_EQ(controller.next_sample(), 50ms);
}

TEST(MemoryController, KeepsListingContainersWhileTheGateIsShutOnAFullNode) {
  Scene scene;
  scene.used(650).add("a", 100, 900);
  MemoryController controller{{.policy = settings()}};
  (void)controller.observe(scene.seen);
  EXPECT_EQ(controller.decision().pressure, Pressure::high);
  EXPECT_TRUE(controller.is_hurried());
  EXPECT_FALSE(controller.is_tight());
  (void)controller.observe(scene.used(590).grow("a", 50).seen);
  EXPECT_EQ(controller.decision().pressure, Pressure::high);
  EXPECT_FALSE(controller.is_hurried());
}

// Rows 5 and 6.
TEST(MemoryController, IsBlockedWhereNothingMayBeThrottled) {
  Scene scene;
  MemoryController controller{{.policy = settings()}};
  (void)controller.observe(scene.used(950).seen);
  EXPECT_TRUE(controller.is_blocked());
  scene.add("a", 100, 200).marks.system = true;
  (void)controller.observe(scene.after(50).seen);
  EXPECT_TRUE(controller.is_blocked());
  scene.add("b", 100, 200);
  (void)controller.observe(scene.after(50).seen);
  EXPECT_FALSE(controller.is_blocked());
}

// Row 66.
TEST(MemoryController, PodThatEndsWhileMemoryIsShortLowersTheBound) {
  Scene scene;
  MemoryController controller{{.policy = settings()}};
  (void)controller.observe(scene.used(950).seen);
  (void)controller.observe(scene.after(250).seen);

  EXPECT_FALSE(controller.container_ended(
      "pod", {.exited = true, .exit_code = 137, .reason = "Error"}, scene.seen.now));
  EXPECT_TRUE(controller.pod_ended("pod", scene.seen.now));
  (void)controller.observe(scene.after(250).seen);

  EXPECT_LT(controller.decision().upper, 0.885);
}

TEST(MemoryController, GateCountsAClaimUntilItsMemoryIsSeen) {
  Scene scene;
  scene.used(100).add("a", 100, 100);
  MemoryController controller{{.policy = settings()}};
  (void)controller.observe(scene.seen);
  EXPECT_TRUE(controller.ask("b", 1000 * kMiB, scene.seen.now).granted);
  EXPECT_FALSE(controller.ask("c", 1000 * kMiB, scene.seen.now).granted);

  scene.add("b", 1, 2).pod_uid = "b";
  (void)controller.observe(scene.seen);

  EXPECT_TRUE(controller.ask("c", 1000 * kMiB, scene.seen.now).granted);
}

}  // namespace
}  // namespace sluice::node_agent
