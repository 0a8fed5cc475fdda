#include "autoscaler/core/nodes/removals.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace sluice::autoscaler {
namespace {

RemovalCandidate pod(const std::string& name, std::optional<double> load = std::nullopt) {
  return {.id = {name}, .ready = true, .load = load};
}

RemovalCandidate starting(const std::string& name) {
  return {.id = {name}};
}

RemovalCandidate terminating(const std::string& name) {
  return {.id = {name}, .ready = true, .terminating = true};
}

/// The pods that leave, in the given order, those that may be stopped in brackets.
std::string shown(const Removals& removals, const std::vector<RemovalCandidate>& pods) {
  std::string text;
  for (const RemovalCandidate& each : pods) {
    if (removals.leaving(each.id)) text += each.id.name + " ";
  }
  text += "[";
  for (const PodId& each : removals.released()) text += each.name + " ";
  if (text.back() == ' ') text.pop_back();
  return text + "]";
}

const auto kYes = [](std::uint64_t) { return true; };

TEST(Removals, OfEquallyBusyPodsTheThrottledLeaveFirstAndABusyOneStays) {
  std::vector<RemovalCandidate> pods{pod("busy", 3), pod("slow", 0), pod("idle", 0)};
  pods[0].throttled = pods[1].throttled = true;
  Removals removals;
  EXPECT_TRUE(removals.plan(pods, 2));
  EXPECT_TRUE(removals.leaving({"slow"}));
  EXPECT_TRUE(removals.plan(pods, 1));
  EXPECT_TRUE(removals.leaving({"idle"}));
}

TEST(Removals, NoPodLeavesWhileAllAreWanted) {
  Removals removals;
  const std::vector pods{pod("a"), pod("b")};

  EXPECT_FALSE(removals.plan(pods, 2));
  EXPECT_FALSE(removals.plan(pods, 5));

  EXPECT_EQ(shown(removals, pods), "[]");
}

TEST(Removals, PodsThatAreNotReadyLeaveFirstThenTheIdlest) {
  Removals removals;
  const std::vector pods{pod("busy", 5), pod("idle", 0), pod("some", 2), starting("late")};

  EXPECT_TRUE(removals.plan(pods, 1));

  EXPECT_EQ(shown(removals, pods), "idle some late []");
  removals.told(7);
  EXPECT_TRUE(removals.release(kYes));
  EXPECT_EQ(shown(removals, pods), "idle some late [late idle some]");
}

TEST(Removals, APodThatFailsToStartLeavesBeforeAYoungerOneThatStarts) {
  Removals removals;
  const std::vector<RemovalCandidate> pods{{.id = {"old"}, .failed = true}, starting("corrected")};

  EXPECT_TRUE(removals.plan(pods, 1));

  EXPECT_EQ(shown(removals, pods), "old []");
}

TEST(Removals, AmongEqualsTheYoungestLeave) {
  Removals removals;
  const std::vector pods{pod("old", 1), pod("middle", 1), pod("young", 1)};

  removals.plan(pods, 2);

  EXPECT_EQ(shown(removals, pods), "young []");
}

TEST(Removals, NoPodIsStoppedBeforeTheVersionIsApplied) {
  Removals removals;
  const std::vector pods{pod("a", 1), pod("b", 2), pod("c", 3)};
  removals.plan(pods, 2);
  EXPECT_FALSE(removals.release(kYes)) << "no activator has received it";
  removals.told(5);
  removals.plan(pods, 1);
  removals.told(6);
  EXPECT_EQ(removals.awaited(), 5U);

  EXPECT_TRUE(removals.release([](std::uint64_t version) { return version <= 5; }));
  EXPECT_EQ(shown(removals, pods), "a b [a]");
  EXPECT_EQ(removals.awaited(), 6U);
  EXPECT_TRUE(removals.release(kYes));

  EXPECT_EQ(shown(removals, pods), "a b [a b]");
  EXPECT_FALSE(removals.awaited().has_value());
}

TEST(Removals, AChoiceIsUndoneBusiestPodFirst) {
  Removals removals;
  const std::vector pods{pod("a", 1), pod("b", 2), pod("c", 3)};
  removals.plan(pods, 0);
  removals.told(5);

  EXPECT_TRUE(removals.plan(pods, 1));

  EXPECT_EQ(shown(removals, pods), "a b []");
}

// Goal: what may be stopped and is not yet is wanted before a new pod is.
TEST(Removals, ReleasedPodsAreTakenBackLastAndTerminatingOnesNever) {
  Removals removals;
  std::vector pods{pod("a", 1), pod("b", 2), pod("c", 3), pod("d", 4)};
  removals.plan(pods, 2);
  removals.told(5);
  removals.release(kYes);
  removals.plan(pods, 1);
  EXPECT_EQ(shown(removals, pods), "a b c [a b]");

  EXPECT_TRUE(removals.plan(pods, 3));
  EXPECT_EQ(shown(removals, pods), "a [a]");
  pods[0].terminating = true;
  EXPECT_FALSE(removals.plan(pods, 4));

  EXPECT_EQ(shown(removals, pods), "a [a]");
}

TEST(Removals, APodThatIsChosenAgainIsSentAgain) {
  Removals removals;
  const std::vector pods{pod("a", 1), pod("b", 2)};
  removals.plan(pods, 1);
  removals.told(5);
  removals.plan(pods, 2);
  removals.plan(pods, 1);

  EXPECT_FALSE(removals.release(kYes));
  removals.told(7);

  EXPECT_EQ(removals.awaited(), 7U);
}

TEST(Removals, TerminatingPodsCountAsGone) {
  Removals removals;
  const std::vector pods{terminating("a"), pod("b", 1), pod("c", 2)};

  EXPECT_FALSE(removals.plan(pods, 2));
  EXPECT_TRUE(removals.plan(pods, 1));

  EXPECT_EQ(shown(removals, pods), "b []");
}

TEST(Removals, AGonePodIsDropped) {
  Removals removals;
  removals.plan(std::vector{pod("a", 1), pod("b", 2)}, 1);
  removals.told(5);
  removals.release(kYes);

  EXPECT_TRUE(removals.plan(std::vector{pod("b", 2)}, 1));

  EXPECT_EQ(shown(removals, {pod("a"), pod("b")}), "[]");
}

TEST(Removals, RemovalsReleasedBeforeARestartStayReleased) {
  const std::vector<PodId> before{{"b"}};
  Removals removals{before};
  const std::vector pods{pod("a", 1), pod("b", 2), pod("c", 0)};

  EXPECT_FALSE(removals.plan(pods, 2));

  EXPECT_EQ(shown(removals, pods), "b [b]");
}

}  // namespace
}  // namespace sluice::autoscaler
