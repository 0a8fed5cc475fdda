#include "memory-pressure/core/headroom_policy.h"

#include "tests/unit/memory-pressure/core/scene.h"

#include <gtest/gtest.h>

#include "memory-pressure/core/quota.h"

namespace sluice::node_agent {
namespace {

/// Without a reserve and concerned early, so that the sums can be done in one's head.
PolicySettings plain() {
  PolicySettings settings;
  settings.reserve = 0;
  settings.concern = 0.60;
  return settings;
}

/// Observed for a minute without a change: every container counts as known.
void let_settle(HeadroomPolicy& policy, Scene& scene) {
  for (int i = 0; i < 61; ++i) (void)policy.decide(scene.after(1000).seen);
}

std::string first_word(const PolicySettings& settings, const Scene& scene) {
  HeadroomPolicy policy{settings};
  return shown(policy.decide(scene.seen));
}

TEST(HeadroomPolicy, GateAdmitsMemoryThatStaysSafeBesideThePossibleGrowth) {
  Scene scene;
  scene.used(400).add("a", 100, 200);
  scene.add("b", 100, 200);

  // 600 / 0.6 - 200
  EXPECT_EQ(first_word(plain(), scene), "ok [] 800");

  PolicySettings reserving = plain();
  reserving.reserve = 120 * kMiB;
  EXPECT_EQ(first_word(reserving, scene), "ok [] 600");
}

TEST(HeadroomPolicy, GateIsShutWhenUnsafeEvenBeforeAnyContainerNeedsAPause) {
  Scene scene;
  scene.used(500).add("a", 100, 600);
  scene.add("b", 100, 600);
  EXPECT_EQ(first_word(plain(), scene), "high [] 0");
}

TEST(HeadroomPolicy, OneIsAlwaysAdmittedToAnEmptyNode) {
  Scene scene;
  scene.used(990).add("kubelet", 100, 0).marks.system = true;
  EXPECT_TRUE(first_word(plain(), scene).ends_with(" 1000"));
}

TEST(HeadroomPolicy, UnsafeStatePausesTheYoungestFirstAndNoMoreThanItTakes) {
  Scene scene{10'000};
  scene.used(7000);
  scene.add("old", 1000, 4000, 30'000);
  scene.add("young", 1000, 4000, 10'000);
  scene.add("middle", 1000, 4000, 20'000);

  // 0.6 * 9000 > 3000; each pause at 100m leaves 600 of its 3000.
  EXPECT_EQ(first_word(plain(), scene), "high [young:100m middle:100m] 0");
}

TEST(HeadroomPolicy, FarFromTheEdgeOnlyTheGateCountsPossibleGrowth) {
  PolicySettings settings = plain();
  settings.concern = PolicySettings{}.concern;
  settings.upper = 0.97;
  for (const std::int64_t used : {9500, 9501}) {
    Scene scene{10'000};
    scene.used(used).add("a", 1000, 4000);
    scene.add("b", 1000, 4000);
    EXPECT_EQ(first_word(settings, scene), used == 9500 ? "high [] 0" : "high [a:100m] 0");
  }
}

TEST(HeadroomPolicy, OrderOfChoiceCanBeUsageOrGrowth) {
  Scene scene{10'000};
  scene.used(6500);
  scene.add("small", 500, 2500, 30'000);
  scene.add("big", 2000, 5000, 20'000);
  scene.add("steep", 1000, 6000, 25'000);
  PolicySettings settings = plain();
  settings.overcommit_factor = 0.4;

  EXPECT_EQ(first_word(settings, scene), "high [big:100m] 0");
  settings.order = Order::usage;
  EXPECT_EQ(first_word(settings, scene), "high [small:100m] 0");
  settings.order = Order::growth;
  EXPECT_EQ(first_word(settings, scene), "high [steep:100m] 0");
}

TEST(HeadroomPolicy, AFactorNearZeroOpensTheGateWide) {
  Scene scene{10'000};
  scene.used(1000);
  PolicySettings settings = plain();
  settings.overcommit_factor = 1e-300;
  scene.add("a", 1000, 4000);
  EXPECT_GE(HeadroomPolicy{settings}.decide(scene.seen).admit_bytes, 10'000 * kMiB);
}

TEST(HeadroomPolicy, ClassComesBeforeAge) {
  Scene scene{10'000};
  scene.used(7000);
  scene.add("guaranteed", 1000, 4000, 10'000).qos = QosClass::guaranteed;
  scene.add("burstable", 1000, 4000, 20'000).qos = QosClass::burstable;
  scene.add("best", 1000, 4000, 30'000);
  EXPECT_EQ(first_word(plain(), scene), "high [best:100m burstable:100m] 0");
}

TEST(HeadroomPolicy, EqualsAreTakenByTheirIds) {
  for (const std::string_view order : {"ab", "ba"}) {
    Scene scene{10'000};
    scene.used(7500);
    for (const char id : order) scene.add(std::string{id}, 1000, 4000);
    EXPECT_EQ(first_word(plain(), scene), "high [a:100m] 0");
  }
}

TEST(HeadroomPolicy, OnlyCandidateIsKeptRunning) {
  Scene scene;
  scene.used(960).add("a", 900, 2000);
  HeadroomPolicy policy{plain()};
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(throttled(policy.decide(scene.after(250).seen)), "") << i;
  }
}

TEST(HeadroomPolicy, UsageExactlyAtTheThresholdThrottlesNothing) {
  Scene scene;
  scene.used(900).add("a", 450, 500);
  scene.add("b", 450, 500);
  EXPECT_EQ(first_word(plain(), scene), "ok [] 66");
  scene.used(901);
  EXPECT_TRUE(first_word(plain(), scene).starts_with("high [a:100m]"));
}

TEST(HeadroomPolicy, WithoutContainersNothingIsDoneAboveTheThreshold) {
  Scene scene;
  scene.used(980);
  HeadroomPolicy policy{plain()};
  for (int i = 0; i < 100; ++i) {
    const Decision decision = policy.decide(scene.after(250).seen);
    EXPECT_EQ(throttled(decision), "");
    EXPECT_FALSE(decision.sacrifice.has_value());
  }
}

TEST(HeadroomPolicy, ExemptContainersAreNeverTouched) {
  Scene scene;
  scene.used(980);
  scene.add("a", 400, 900).marks.never = true;
  scene.add("b", 400, 900).marks.system = true;
  scene.add("c", 400, 900).marks.request_proxy = true;
  HeadroomPolicy policy{plain()};
  for (int i = 0; i < 100; ++i) {
    const Decision decision = policy.decide(scene.after(250).seen);
    EXPECT_EQ(throttled(decision), "");
    EXPECT_FALSE(decision.sacrifice.has_value());
  }
}

TEST(HeadroomPolicy, OptOutWhilePausedReleasesAtTheNextTick) {
  Scene scene{10'000};
  scene.used(7500).add("a", 1000, 4000);
  scene.add("b", 1000, 4000);
  HeadroomPolicy policy{plain()};
  EXPECT_EQ(throttled(policy.decide(scene.seen)), "a:100m");

  scene["a"].marks.never = true;
  EXPECT_EQ(throttled(policy.decide(scene.after(50).seen)).find("a:"), std::string::npos);
}

// Row 9: between two samples the node was full, which no sample saw. A wake-up is one more sample.
TEST(HeadroomPolicy, SpikeBetweenTwoSamplesThrottlesNothing) {
  Scene scene{10'000};
  scene.used(7000).add("a", 1000, 1060);
  scene.add("b", 1000, 1060);
  HeadroomPolicy policy{plain()};
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(throttled(policy.decide(scene.used(7000).after(250).seen)), "");
    // It stands at 9500 for 200 ms here, unseen.
  }
  EXPECT_EQ(policy.decide(scene.seen).pressure, Pressure::ok);
  // Woken in the middle of one, 50 ms after the last sample.
  EXPECT_NE(throttled(policy.decide(scene.used(9500).after(50).seen)), "");
}

TEST(HeadroomPolicy, NewContainersHaveAGracePeriodButTheirGrowthCounts) {
  Scene scene{10'000};
  scene.used(7500);
  scene.add("new", 1000, 4000, 1000);
  scene.add("old", 1000, 4000, 20'000);
  EXPECT_EQ(first_word(plain(), scene), "high [old:100m] 0");
}

TEST(HeadroomPolicy, RestartedContainerIsANewOneWithItsOwnGrace) {
  Scene scene{10'000};
  scene.used(7500).add("a", 1000, 4000);
  scene.add("b", 1000, 4000);
  HeadroomPolicy policy{plain()};
  EXPECT_EQ(throttled(policy.decide(scene.seen)), "a:100m");

  scene.remove("a").after(250);
  Container& again = scene.add("a2", 100, 4000, 0);
  again.attempt = 1;
  EXPECT_EQ(throttled(policy.decide(scene.after(250).seen)).find("a2"), std::string::npos);
}

TEST(HeadroomPolicy, PageCacheIsNotCountedAsUse) {
  // 800 of 1000 are cache: the sense does not count what can be reclaimed.
  Scene scene;
  scene.used(100).add("a", 50, 400);
  scene.add("b", 50, 400);
  EXPECT_EQ(first_word(plain(), scene), "ok [] 800");
}

TEST(HeadroomPolicy, GrowingMemoryVolumeIsItsWritersGrowth) {
  Scene scene{10'000};
  scene.used(6000).add("writer", 1000, 9000, 100'000);
  scene.add("other", 3000, 4000, 200'000);
  HeadroomPolicy policy{plain()};
  for (std::int64_t i = 0; i < 40; ++i) {
    scene.after(250).grow("writer", 1000 + 80 * i).used(6000 + 80 * i);
    (void)policy.decide(scene.seen);
  }
  EXPECT_TRUE(throttled(policy.decide(scene.after(250).seen)).starts_with("writer:"));
}

TEST(HeadroomPolicy, ContainerWithoutLimitClaimsTheNode) {
  Scene scene{10'000};
  scene.used(6500).add("bounded", 1000, 2000, 20'000);
  scene.add("free", 1000, 0, 30'000);
  PolicySettings settings = plain();
  settings.order = Order::growth;
  EXPECT_EQ(first_word(settings, scene), "high [free:100m] 0");
}

TEST(HeadroomPolicy, SteadyContainersThrottleNothingWhateverTheirLimits) {
  Scene scene{10'000};
  scene.used(7000);
  for (const char* id : {"a", "b", "c"}) scene.add(id, 2000, 9000, 3'600'000);
  scene.add("free", 1000, 0, 3'600'000);
  HeadroomPolicy policy{plain()};
  let_settle(policy, scene);
  EXPECT_TRUE(shown(policy.decide(scene.after(250).seen)).starts_with("ok []"));
}

TEST(HeadroomPolicy, NodeWithoutGrowthMayStayAboveTheThreshold) {
  Scene scene{10'000};
  scene.used(9500);
  for (const char* id : {"a", "b", "c"}) scene.add(id, 3000, 9000, 3'600'000);
  HeadroomPolicy policy{plain()};
  let_settle(policy, scene);
  for (int i = 0; i < 1000; ++i) {
    const Decision decision = policy.decide(scene.after(250).seen);
    EXPECT_EQ(throttled(decision), "");
    EXPECT_FALSE(decision.sacrifice.has_value());
  }
}

TEST(HeadroomPolicy, NewLimitAppliesFromTheNextTick) {
  Scene scene;
  scene.used(400).add("a", 100, 200);
  HeadroomPolicy policy{plain()};
  EXPECT_EQ(shown(policy.decide(scene.seen)), "ok [] 900");
  scene["a"].memory_limit = 500 * kMiB;
  EXPECT_EQ(shown(policy.decide(scene.after(250).seen)), "ok [] 600");
}

TEST(HeadroomPolicy, NewCapacityAppliesFromTheNextTick) {
  Scene scene;
  scene.used(400).add("a", 100, 200);
  HeadroomPolicy policy{plain()};
  EXPECT_EQ(shown(policy.decide(scene.seen)), "ok [] 900");
  scene.node().capacity = 700 * kMiB;
  EXPECT_EQ(shown(policy.decide(scene.after(250).seen)), "ok [] 400");
}

TEST(HeadroomPolicy, UnknownUseIsPickedLastAndNeverSacrificed) {
  Scene scene{10'000};
  scene.used(7000);
  scene.add("known", 1000, 4000, 30'000);
  scene.add("unknown", 0, 4000, 10'000).working_set.reset();
  EXPECT_EQ(first_word(plain(), scene), "high [known:100m] 0");
}

TEST(HeadroomPolicy, StaleStatsMakeNoGrowth) {
  Scene scene;
  scene.used(300).add("a", 100, 200);
  HeadroomPolicy policy{plain()};
  (void)policy.decide(scene.seen);
  scene.after(250).grow("a", 150);
  scene["a"].sampled -= std::chrono::milliseconds{501};
  EXPECT_EQ(policy.decide(scene.seen).growth_per_second, 0);
  scene.after(250);
  EXPECT_GT(policy.decide(scene.seen).growth_per_second, 0);
}

TEST(HeadroomPolicy, LeakIsPickedFirstWhateverItsClassAndSize) {
  Scene scene{10'000};
  scene.used(6000).add("leak", 1000, 9000, 900'000).qos = QosClass::guaranteed;
  scene.add("young", 1000, 4000, 10'000);
  scene.add("old", 1000, 4000, 800'000);
  HeadroomPolicy policy{plain()};
  for (std::int64_t i = 0; i < 63; ++i) {
    scene.after(1000).grow("leak", 1000 + 2 * i);
    (void)policy.decide(scene.seen);
  }
  scene.after(250).used(9100);
  EXPECT_TRUE(throttled(policy.decide(scene.seen)).starts_with("leak:"));
}

TEST(HeadroomPolicy, OneFailedReadIsBridgedTheSecondChangesNothing) {
  Scene scene{10'000};
  scene.used(7500).add("a", 1000, 4000);
  scene.add("b", 1000, 4000);
  HeadroomPolicy policy{plain()};
  EXPECT_EQ(shown(policy.decide(scene.seen)), "high [a:100m] 0");

  const auto memory = scene.seen.memory;
  scene.seen.memory.reset();
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(shown(policy.decide(scene.after(50).seen)), "high [a:100m] 0");
  }
  scene.seen.memory = memory;
  scene.used(100);
  EXPECT_EQ(throttled(policy.decide(scene.after(600).seen)), "");
}

TEST(HeadroomPolicy, NothingChangesWhileTheRuntimeIsDown) {
  Scene scene{10'000};
  scene.used(7500).add("a", 1000, 4000);
  scene.add("b", 1000, 4000);
  HeadroomPolicy policy{plain()};
  (void)policy.decide(scene.seen);

  scene.seen.runtime_answers = false;
  scene.used(9900);
  for (int i = 0; i < 200; ++i) {
    EXPECT_EQ(shown(policy.decide(scene.after(250).seen)), "high [a:100m] 0");
  }
}

TEST(HeadroomPolicy, ClockStepsEndNoPauseAndStartNone) {
  Scene scene{10'000};
  scene.used(7500).add("a", 1000, 4000);
  scene.add("b", 1000, 4000);
  HeadroomPolicy policy{plain()};
  (void)policy.decide(scene.seen);
  for (const std::int64_t jump : {-3'600'000, 3'600'000, -86'400'000}) {
    EXPECT_EQ(throttled(policy.decide(scene.after(jump).seen)), "a:100m") << jump;
    for (Container& one : scene.seen.containers) one.started += std::chrono::milliseconds{jump};
    EXPECT_EQ(throttled(policy.decide(scene.after(50).seen)), "a:100m") << jump;
  }
}

TEST(HeadroomPolicy, AblationsSwitchOffOneHalfEach) {
  Scene scene{10'000};
  scene.used(7500).add("a", 1000, 4000);
  scene.add("b", 1000, 4000);
  PolicySettings settings = plain();
  settings.pause = false;
  EXPECT_EQ(first_word(settings, scene), "high [] 0");
  settings.pause = true;
  settings.gate = false;
  EXPECT_EQ(first_word(settings, scene), "high [a:100m] any");
}

}  // namespace
}  // namespace sluice::node_agent
