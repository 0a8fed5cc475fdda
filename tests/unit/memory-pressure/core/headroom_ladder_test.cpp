// Goal: pauses begin, deepen, rotate and end as memory-pressure.md 5.3 to 5.6 say.
// Method: a node of 10 GB whose containers may each grow by gigabytes; ticks of a quarter second.

#include "tests/unit/memory-pressure/core/scene.h"

#include <gtest/gtest.h>

#include "memory-pressure/core/headroom_policy.h"
#include "memory-pressure/core/quota.h"
#include <set>
#include <utility>

namespace sluice::node_agent {
namespace {

PolicySettings plain() {
  PolicySettings settings;
  settings.reserve = 0;
  settings.concern = 0.60;  // so that there is room for a story
  return settings;
}

/// No container is ever known well enough to be trusted below its limit.
PolicySettings strangers() {
  PolicySettings settings = plain();
  settings.known_after = std::chrono::hours{24};
  return settings;
}

/// `count` containers of 1000 MiB with a limit of 4000, the later in the alphabet the younger.
Scene crowd(int count, std::int64_t used) {
  Scene scene{10'000};
  scene.used(used);
  for (int i = 0; i < count; ++i) {
    scene.add(std::string(1, static_cast<char>('a' + i)), 1000, 4000, 40'000 - 1000 * i);
  }
  return scene;
}

/// Decides every quarter second for `milliseconds`, prints each change of who is throttled.
std::string story(HeadroomPolicy& policy, Scene& scene, std::int64_t milliseconds) {
  std::string text;
  std::string last = "?";
  const TimePoint start = scene.seen.now;
  for (std::int64_t passed = 0; passed < milliseconds; passed += 250) {
    const Decision decision = policy.decide(scene.after(250).seen);
    std::string now = throttled(decision);
    if (decision.sacrifice) now += " -" + decision.sacrifice->id;
    if (now == last) continue;
    last = now;
    const auto at = std::chrono::duration_cast<std::chrono::milliseconds>(scene.seen.now - start);
    text += std::to_string(at.count()) + "[" + now + "] ";
  }
  return text;
}

TEST(HeadroomLadder, FlickerAroundTheThresholdRestrictsOncePerTimeout) {
  // Growth is bounded to 40 MiB each, so that the safety test holds and usage alone speaks.
  Scene scene{10'000};
  for (const char* id : {"a", "b", "c", "d"}) scene.add(id, 1000, 1060);
  HeadroomPolicy policy{plain()};
  std::set<std::string> ever;
  std::size_t restrictions = 0;
  std::size_t before = 0;
  for (int i = 0; i < 39; ++i) {
    scene.used(i % 2 == 0 ? 9010 : 8990).after(250);
    const Decision decision = policy.decide(scene.seen);
    if (decision.throttled.size() > before) ++restrictions;
    before = decision.throttled.size();
  }
  EXPECT_EQ(restrictions, 2U);  // at 0 s and 5 s of 9.75 s
}

TEST(HeadroomLadder, EachStepComesOnlyAfterTheOneBeforeDidNotSlowTheGrowth) {
  Scene scene{10'000};
  for (const char* id : {"a", "b"}) scene.add(id, 4500, 4600);
  scene.used(9200);
  HeadroomPolicy policy{plain()};
  EXPECT_EQ(story(policy, scene, 10'500), "250[a:100m] 5250[a:25m] ");
}

TEST(HeadroomLadder, FallingUsageIsGivenTime) {
  Scene scene{10'000};
  for (const char* id : {"a", "b"}) scene.add(id, 4500, 4600);
  scene.used(9300);
  HeadroomPolicy policy{plain()};
  (void)policy.decide(scene.seen);
  scene.used(9100);
  EXPECT_EQ(story(policy, scene, 20'000), "250[a:100m] ");
}

TEST(HeadroomLadder, EmergencyJumpsToTheDeepestStepTheFloorAllows) {
  Scene scene = crowd(3, 9750);
  scene["c"].marks.batch = true;
  HeadroomPolicy policy{plain()};
  const Decision decision = policy.decide(scene.seen);
  EXPECT_EQ(shown(decision), "critical [c:1m b:25m] 0");
  EXPECT_EQ(decision.throttled[0].ladder_step, 4U);
}

TEST(HeadroomLadder, FloorsOfProbesAndRequestsHoldInAnEmergency) {
  Scene scene = crowd(3, 9750);
  scene["b"].marks.exec_probe = true;
  scene["c"].marks.serves = true;
  HeadroomPolicy policy{plain()};
  EXPECT_EQ(throttled(policy.decide(scene.seen)), "c:100m b:50m");
}

TEST(HeadroomLadder, StepIsChosenThatHoldsGrowthBack) {
  // 64 MiB of growth: 100m and 25m could fault in all of it within the horizon, 1m cannot.
  Scene scene{512};
  scene.used(400);
  for (const char* id : {"a", "b", "c", "d"}) scene.add(id, 32, 96).marks.batch = true;
  HeadroomPolicy policy{plain()};
  EXPECT_EQ(shown(policy.decide(scene.seen)), "critical [a:1m b:1m] 0");
}

TEST(HeadroomLadder, NoContainerIsPausedForSafetyWherePausingStopsNoGrowth) {
  Scene scene{512};
  scene.used(400);
  for (const char* id : {"a", "b", "c", "d"}) scene.add(id, 32, 96);
  HeadroomPolicy policy{plain()};
  EXPECT_EQ(shown(policy.decide(scene.seen)), "high [] 0");
}

TEST(HeadroomLadder, FewerCandidatesThanTheStepAreTakenAsTheyAre) {
  Scene scene{10'000};
  for (const char* id : {"a", "b", "c"}) scene.add(id, 1000, 1060);
  scene.used(9100);
  PolicySettings settings = plain();
  settings.step = 10;
  HeadroomPolicy policy{settings};
  EXPECT_EQ(throttled(policy.decide(scene.seen)), "a:100m b:100m");
}

TEST(HeadroomLadder, StallActsBelowTheThreshold) {
  Scene scene{10'000};
  for (const char* id : {"a", "b"}) scene.add(id, 1000, 1060);
  scene.used(7000);
  scene.node().stall = Stall{26, 0};
  HeadroomPolicy policy{plain()};
  EXPECT_EQ(throttled(policy.decide(scene.seen)), "a:100m");
}

TEST(HeadroomLadder, AllPausedAndStillOverEndsInOneSacrificeAtATime) {
  Scene scene = crowd(3, 9800);
  HeadroomPolicy policy{strangers()};
  // c has lost the least work for the same memory.
  EXPECT_EQ(story(policy, scene, 35'000), "250[c:25m b:25m] 30250[b:25m -c] 30500[b:25m] ");
  scene.remove("c");
  EXPECT_EQ(story(policy, scene, 20'000), "250[b:25m] ");
}

TEST(HeadroomLadder, VictimIsChosenWithinASecondWhenTheKernelIsAboutToChoose) {
  Scene scene = crowd(3, 9000);
  HeadroomPolicy policy{plain()};
  std::int64_t chosen = 0;
  for (std::int64_t i = 1; i <= 20 && chosen == 0; ++i) {
    scene.after(250).grow("a", 1000 + 80 * i).used(9000 + 80 * std::min<std::int64_t>(i, 12));
    if (policy.decide(scene.seen).sacrifice) chosen = i;
  }
  // Critical from the ninth sample on.
  EXPECT_GE(chosen, 10);
  EXPECT_LE(chosen, 14);
}

TEST(HeadroomLadder, JobsAreNoVictimsUnlessAllowed) {
  for (const bool allowed : {false, true}) {
    Scene scene = crowd(2, 9800);
    scene["b"].marks.job = true;
    scene["b"].marks.sacrifice_jobs = allowed;
    HeadroomPolicy policy{strangers()};
    EXPECT_EQ(story(policy, scene, 30'250), allowed ? "250[b:1m] 30250[ -b] " : "250[b:1m] ");
  }
}

TEST(HeadroomLadder, UnknownUseIsNoVictim) {
  Scene scene = crowd(2, 9800);
  scene["b"].working_set.reset();
  HeadroomPolicy policy{plain()};
  (void)policy.decide(scene.seen);
  EXPECT_EQ(story(policy, scene, 30'000).find("-b"), std::string::npos);
}

TEST(HeadroomLadder, LeakIsTheFirstVictim) {
  Scene scene{10'000};
  scene.used(9000).add("old", 1000, 4000, 1'000'000);
  scene.add("leak", 1000, 9000, 900'000).qos = QosClass::guaranteed;
  scene.add("young", 1000, 4000, 20'000);
  HeadroomPolicy policy{PolicySettings{}};
  for (std::int64_t i = 0; i < 63; ++i) {
    (void)policy.decide(scene.after(1000).grow("leak", 1000 + 2 * i).used(8000).seen);
  }
  scene.used(9900);
  std::string victim;
  for (int i = 0; i < 200 && victim.empty(); ++i) {
    const Decision decision = policy.decide(scene.after(250).seen);
    if (decision.sacrifice) victim = decision.sacrifice->id;
  }
  EXPECT_EQ(victim, "leak");
}

TEST(HeadroomLadder, BetweenTheThresholdsAllPausedAreReleasedInStagesAndNoneIsKilled) {
  Scene scene = crowd(3, 7500);
  HeadroomPolicy policy{plain()};
  EXPECT_EQ(throttled(policy.decide(scene.seen)), "c:100m b:100m");

  // The running container freed memory, nothing can grow much: 84.5 % is between L and U less the
  // margin.
  for (const char* id : {"a", "b", "c"}) scene[id].memory_limit = 1050 * kMiB;
  scene.used(8450);
  EXPECT_EQ(story(policy, scene, 3000),
            "250[c:100m b:100m] 500[c:100m b:500m] 750[c:100m] 1000[c:500m] 1250[] ");
}

TEST(HeadroomLadder, ExactlyAtTheLowerThresholdReleaseIsStillStaged) {
  for (const auto& [used, first] : {std::pair{8400, "500[b:500m]"}, std::pair{8399, "500[]"}}) {
    Scene scene = crowd(2, 7500);
    HeadroomPolicy policy{plain()};
    EXPECT_EQ(throttled(policy.decide(scene.seen)), "b:100m");
    for (const char* id : {"a", "b"}) scene[id].memory_limit = 1050 * kMiB;
    scene.used(used);
    EXPECT_EQ(story(policy, scene, 500), std::string{"250[b:100m] "} + first + " ") << used;
  }
}

TEST(HeadroomLadder, BelowTheLowerThresholdOneIsReleasedPerTickOldestFirst) {
  Scene scene = crowd(3, 7500);
  HeadroomPolicy policy{plain()};
  (void)policy.decide(scene.seen);
  scene.used(3000);
  EXPECT_EQ(story(policy, scene, 2000), "250[c:100m b:100m] 500[c:100m] 750[] ");
}

TEST(HeadroomLadder, ReleaseNeedsTheSafetyTestWithAMargin) {
  Scene scene{10'000};
  scene.used(7000).add("a", 1000, 4000, 30'000);
  scene.add("b", 1000, 4000, 20'000);
  HeadroomPolicy policy{plain()};
  EXPECT_EQ(throttled(policy.decide(scene.seen)), "b:100m");
  // Safe with b running: 3600 of 3600. But not with five points to spare.
  scene.used(6400);
  EXPECT_EQ(story(policy, scene, 5000), "250[b:100m] ");
  scene.used(5900);
  EXPECT_EQ(story(policy, scene, 500), "250[] ");
}

TEST(HeadroomLadder, ReleasedContainerRunsForASecond) {
  Scene scene{10'000};
  scene.used(7500).add("a", 1000, 4000, 30'000);
  scene.add("b", 1000, 4000, 20'000);
  HeadroomPolicy policy{plain()};
  (void)policy.decide(scene.seen);
  scene.used(3000).after(250);
  EXPECT_EQ(story(policy, scene, 500), "250[] ");
  scene.used(7500);
  EXPECT_EQ(story(policy, scene, 2000), "250[a:100m] ");
}

TEST(HeadroomLadder, OneAlwaysRuns) {
  Scene scene = crowd(3, 7500);
  HeadroomPolicy policy{plain()};
  EXPECT_EQ(throttled(policy.decide(scene.seen)), "c:100m b:100m");
  scene.remove("a");
  EXPECT_EQ(throttled(policy.decide(scene.after(250).seen)), "c:100m");
}

TEST(HeadroomLadder, PauseThatLastsTooLongRotates) {
  Scene scene{10'000};
  scene.used(7500).add("a", 1000, 4000, 3'000'000);
  scene.add("b", 1000, 4000, 2'000'000);
  // Known to swing by gigabytes.
  HeadroomPolicy policy{plain()};
  (void)policy.decide(scene.seen);
  for (const char* id : {"a", "b"}) scene.grow(id, 3000);
  (void)policy.decide(scene.after(250).used(2000).seen);
  for (const char* id : {"a", "b"}) scene.grow(id, 1000);
  scene.used(8200);
  EXPECT_EQ(story(policy, scene, 125'000), "250[b:100m] 60250[a:100m] 120250[b:100m] ");
}

// Row 55: no annotation declares that `holder` has a lock. `waiter` stands behind it and does
// nothing: its memory neither grows nor falls, so that the test fails for as long as the pause
// lasts.
TEST(HeadroomLadder, PausedHolderOfALockIsReleasedAfterTheLongestPause) {
  Scene scene{10'000};
  scene.used(8200).add("waiter", 1000, 4000, 3'000'000);
  scene.add("holder", 1000, 4000, 2'000'000);
  HeadroomPolicy policy{strangers()};
  EXPECT_EQ(story(policy, scene, 59'000), "250[holder:100m] 1250[holder:25m] ");
  EXPECT_EQ(throttled(policy.decide(scene.after(2000).seen)).find("holder"), std::string::npos);
}

// The hint spares it from the beginning, and from the moment it is given.
TEST(HeadroomLadder, DeclaredHolderOfALockIsNeverPaused) {
  Scene scene = crowd(3, 9200);
  HeadroomPolicy policy{plain()};
  const std::string first = policy.decide(scene.seen).throttled.front().id;
  scene[first].marks.holds_lock = true;
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(throttled(policy.decide(scene.after(250).seen)).find(first + ":"), std::string::npos);
  }
}

TEST(HeadroomLadder, WholePodPausesTogether) {
  Scene scene = crowd(3, 7900);
  scene["b"].pod_uid = scene["c"].pod_uid;
  scene["b"].marks.whole_pod = scene["c"].marks.whole_pod = true;
  HeadroomPolicy policy{plain()};
  EXPECT_EQ(throttled(policy.decide(scene.seen)), "b:100m c:100m");
}

TEST(HeadroomLadder, OfTwoContainersInAPodOnlyTheChosenIsPaused) {
  Scene scene = crowd(2, 7500);
  scene["b"].pod_uid = scene["a"].pod_uid;
  HeadroomPolicy policy{plain()};
  EXPECT_EQ(throttled(policy.decide(scene.seen)), "b:100m");
}

TEST(HeadroomLadder, LostReadinessReleasesAtOnceAndDoublesTheFloor) {
  Scene scene = crowd(2, 9200);
  scene["b"].ready = true;
  scene["a"].qos = QosClass::guaranteed;
  HeadroomPolicy policy{plain()};
  (void)policy.decide(scene.seen);
  EXPECT_EQ(throttled(policy.decide(scene.after(1250).seen)), "b:25m");
  scene["b"].ready = false;
  EXPECT_EQ(throttled(policy.decide(scene.after(250).seen)).find('b'), std::string::npos);

  scene["b"].ready = true;
  EXPECT_TRUE(story(policy, scene.used(3000), 5000).ends_with("[] "));
  EXPECT_EQ(story(policy, scene.used(9200), 2000), "250[b:100m] 1250[b:50m] ");
}

TEST(HeadroomLadder, RestartWhilePausedDoublesTheFloorOfItsOwner) {
  Scene scene = crowd(2, 9800);
  scene["a"].qos = QosClass::guaranteed;
  HeadroomPolicy policy{plain()};
  EXPECT_EQ(throttled(policy.decide(scene.seen)), "b:25m");
  const Container before = scene["b"];
  scene.remove("b");
  (void)policy.decide(scene.after(250).seen);
  Container& again = scene.add("b2", 1000, 4000, 6000);
  again.pod_uid = before.pod_uid;
  again.pod = before.pod;
  again.attempt = 1;
  EXPECT_EQ(throttled(policy.decide(scene.after(250).seen)), "b2:50m");
}

TEST(HeadroomLadder, ContainerWithALowerQuotaIsNotChosen) {
  Scene scene = crowd(3, 7500);
  scene["c"].quota = CpuQuota{1000, 100'000};
  HeadroomPolicy policy{plain()};
  EXPECT_EQ(throttled(policy.decide(scene.seen)), "b:100m");
}

TEST(HeadroomLadder, EvictionLowersTheThreshold) {
  Scene scene;
  scene.used(500).add("a", 100, 200);
  HeadroomPolicy policy{plain()};
  scene.seen.evicted = true;
  EXPECT_DOUBLE_EQ(policy.decide(scene.seen).upper, 0.88);
}

TEST(HeadroomLadder, IdleReplicasAndColdCacheGoBeforeAnyContainerIsThrottled) {
  Scene scene = crowd(2, 9200);
  HeadroomPolicy policy{plain()};
  const Decision decision = policy.decide(scene.seen);
  EXPECT_TRUE(decision.retire_idle);
  EXPECT_EQ(decision.reclaim, (std::vector<std::string>{"a", "b"}));
  EXPECT_TRUE(policy.decide(scene.after(250).seen).reclaim.empty());
}

TEST(HeadroomLadder, ThrottlesOfAnEarlierRunAreKeptUnderPressureElseReleasedAtOnce) {
  for (const std::int64_t used : {9200, 3000}) {
    Scene scene = crowd(4, used);
    for (const char* id : {"b", "c", "d"}) scene[id].quota = signature(25);
    HeadroomPolicy policy{plain()};
    EXPECT_EQ(throttled(policy.decide(scene.seen)), used == 9200 ? "b:25m c:25m d:25m" : "");
  }
}

}  // namespace
}  // namespace sluice::node_agent
