#include "memory-pressure/core/reconciler.h"

#include "tests/unit/memory-pressure/core/runtime_bench.h"

#include <gtest/gtest.h>

#include "memory-pressure/core/quota.h"

namespace sluice::node_agent {
namespace {

Scene pair_of() {
  Scene scene;
  scene.add("a", 100, 200);
  scene.add("b", 100, 200);
  return scene;
}

TEST(Reconciler, JournalsTheOriginalBeforeTheFirstUpdateAndReadsBack) {
  Scene scene = pair_of();
  RuntimeBench bench{scene};
  EXPECT_EQ(bench.tick("a:25"), "journal a, a 2503/100000, read a");

  const auto record = decode(bench.journal);
  ASSERT_TRUE(record.has_value());
  EXPECT_EQ(record->original, kUnlimited);
  EXPECT_EQ(record->ours, signature(25));
}

TEST(Reconciler, JournalComesBeforeAllUpdatesOfATick) {
  Scene scene = pair_of();
  RuntimeBench bench{scene};
  const auto actions = bench.reconciler.tick(wanting("a:25 b:25"), scene.seen);
  ASSERT_EQ(actions.size(), 4U);
  EXPECT_TRUE(std::holds_alternative<WriteJournal>(actions[0]));
  EXPECT_TRUE(std::holds_alternative<WriteJournal>(actions[1]));
  EXPECT_EQ(std::get<Update>(actions[2]).id, "a");
}

TEST(Reconciler, SameDecisionMakesNoCall) {
  Scene scene = pair_of();
  RuntimeBench bench{scene};
  bench.tick("a:25");
  for (int i = 0; i < 10; ++i) EXPECT_EQ(bench.tick("a:25"), "");
  EXPECT_EQ(bench.calls, 1U);
}

TEST(Reconciler, RestoresExactlyTheOriginal) {
  Scene scene = pair_of();
  scene["a"].quota = CpuQuota{30'000, 100'000};
  RuntimeBench bench{scene};
  bench.tick("a:25");
  bench.tick("a:100");
  EXPECT_EQ(bench.tick(""), "a 30000/100000, read a, drop a");
  EXPECT_EQ(bench.kernel("a"), "a 30000/100000");
  EXPECT_TRUE(bench.reconciler.is_restored());
}

TEST(Reconciler, LowerOriginalIsNotTouched) {
  Scene scene = pair_of();
  scene["a"].quota = CpuQuota{2000, 100'000};
  RuntimeBench bench{scene};
  EXPECT_EQ(bench.tick("a:25"), "");
  EXPECT_EQ(bench.journal, "");
}

TEST(Reconciler, EveryFormOfUnlimitedIsRestoredAsMinusOne) {
  for (const CpuQuota& shown : {CpuQuota{0, 0}, CpuQuota{-1, 100'000}, CpuQuota{-1, 0}}) {
    Scene scene = pair_of();
    scene["a"].quota = shown;
    RuntimeBench bench{scene};
    bench.tick("a:25");
    EXPECT_EQ(bench.tick(""), "a -1/100000, read a, drop a");
  }
}

TEST(Reconciler, UnknownOriginalIsNotTouched) {
  Scene scene = pair_of();
  scene["a"].quota.reset();
  RuntimeBench bench{scene};
  EXPECT_EQ(bench.tick("a:25"), "");
}

TEST(ReconcilerDeathTest, ZeroIsNeverSent) {
  Scene scene = pair_of();
  Reconciler reconciler{ReconcilerSettings{.boot_id = "boot"}};
  Decision wrong = wanting("a:25");
  wrong.throttled[0].quota = {0, 100'000};
  // Zero reads as "no limit", which is no throttle: nothing goes out.
  EXPECT_TRUE(reconciler.tick(wrong, scene.seen).empty());
  wrong.throttled[0].quota = {500, 100'000};
  EXPECT_DEATH((void)reconciler.tick(wrong, scene.seen), "CHECK failed");
}

TEST(Reconciler, ContainerThatExitedWhilePausedLeavesTheJournal) {
  Scene scene = pair_of();
  RuntimeBench bench{scene};
  bench.tick("a:25");
  scene.remove("a");
  EXPECT_EQ(bench.tick(""), "drop a");
  EXPECT_TRUE(bench.reconciler.is_restored());
}

TEST(Reconciler, ContainerThatExitsBeforeTheUpdateIsDroppedAndTheNodeLookedAtAgain) {
  Scene scene = pair_of();
  RuntimeBench bench{scene};
  bench.outcomes({"not_found"});
  EXPECT_EQ(bench.tick("a:25"), "journal a, a 2503/100000 not_found, drop a, look");
  scene.remove("a");
  EXPECT_EQ(bench.tick("b:25", 0), "journal b, b 2503/100000, read b");

  // The runtime answers OK to an update of an exited container.
  scene.remove("b");
  EXPECT_EQ(bench.tick(""), "drop b");
}

TEST(Reconciler, RestartedContainerIsNotCountedAsOurs) {
  Scene scene = pair_of();
  RuntimeBench bench{scene};
  bench.tick("a:25");
  scene.remove("a").add("a2", 10, 200).attempt = 1;
  EXPECT_EQ(bench.tick(""), "drop a");
  EXPECT_EQ(bench.tick(""), "");
}

TEST(Reconciler, ForeignChangeBecomesTheNewOriginal) {
  Scene scene = pair_of();
  RuntimeBench bench{scene};
  bench.tick("a:25");
  scene["a"].quota = CpuQuota{40'000, 100'000};
  EXPECT_EQ(bench.tick("a:25"), "read a");
  EXPECT_EQ(bench.tick("a:25"), "journal a, a 2503/100000, read a");
  EXPECT_EQ(bench.tick(""), "a 40000/100000, read a, drop a");
}

TEST(Reconciler, OperatorsWriteIsNotOverwrittenBeforeTheNextDecision) {
  Scene scene = pair_of();
  RuntimeBench bench{scene};
  bench.tick("a:25");
  scene["a"].quota = CpuQuota{90'000, 100'000};
  EXPECT_EQ(bench.tick("a:25"), "read a");
  EXPECT_EQ(bench.kernel("a"), "a 90000/100000");
  EXPECT_EQ(bench.tick(""), "a 90000/100000, read a, drop a");
}

TEST(Reconciler, ThreeForeignChangesInAMinuteEndTheThrottlingOfAContainer) {
  Scene scene = pair_of();
  RuntimeBench bench{scene};
  bench.tick("a:25");
  for (int i = 0; i < 2; ++i) {
    scene["a"].quota = CpuQuota{30'000, 100'000};
    EXPECT_EQ(bench.tick("a:25", 5000), "read a");
    EXPECT_EQ(bench.tick("a:25"), "journal a, a 2503/100000, read a");
  }
  scene["a"].quota = CpuQuota{30'000, 100'000};
  EXPECT_EQ(bench.tick("a:25", 5000), "read a, drop a, alarm a");
  for (int i = 0; i < 100; ++i) EXPECT_EQ(bench.tick("a:25", 5000), "");
  EXPECT_EQ(bench.kernel("a"), "a 30000/100000");
}

TEST(Reconciler, ForeignChangesFarApartAreNotAFight) {
  Scene scene = pair_of();
  RuntimeBench bench{scene};
  bench.tick("a:25");
  for (int i = 0; i < 10; ++i) {
    for (int s = 0; s < 32; ++s) bench.tick("a:25", 1000);
    scene["a"].quota = CpuQuota{30'000, 100'000};
    EXPECT_EQ(bench.tick("a:25"), "read a");
    EXPECT_EQ(bench.tick("a:25"), "journal a, a 2503/100000, read a");
  }
}

TEST(Reconciler, CpusetOnlyUpdateOfTheKubeletIsIgnored) {
  Scene scene = pair_of();
  RuntimeBench bench{scene};
  bench.tick("a:25");
  scene["a"].marks.exclusive_cpus = true;
  EXPECT_EQ(bench.tick("a:25"), "");
}

TEST(Reconciler, SystemdsRoundingIsAcceptedAsOurs) {
  Scene scene = pair_of();
  RuntimeBench bench{scene};
  bench.tick("a:25 b:1");
  scene["a"].quota = CpuQuota{3000, 100'000};
  scene["b"].quota = CpuQuota{10'000, 1'000'000};
  for (int i = 0; i < 5; ++i) EXPECT_EQ(bench.tick("a:25 b:1"), "");
  EXPECT_EQ(bench.tick(""), "a -1/100000, read a, drop a, b -1/100000, read b, drop b");
}

TEST(Reconciler, FiveHundredContainersGetTwentyUpdatesATick) {
  Scene scene;
  std::string all;
  for (int i = 0; i < 500; ++i) {
    const std::string id = "c" + std::to_string(1000 + i);
    scene.add(id, 1, 2);
    all += id + ":25 ";
  }
  RuntimeBench bench{scene};
  for (std::size_t tick = 1; tick <= 25; ++tick) {
    bench.tick(all);
    EXPECT_EQ(bench.calls, 20 * tick);
  }
  EXPECT_EQ(bench.tick(all), "");
  bench.reconciler.restore_all();
  for (int tick = 0; tick < 26; ++tick) bench.tick(all);
  EXPECT_TRUE(bench.reconciler.is_restored());
}

TEST(Reconciler, AReleaseBeforeForgetIsNotAFight) {
  Scene scene = pair_of();
  RuntimeBench bench{scene};
  bench.tick("a:25");
  bench.tick("a:25");
  ASSERT_TRUE(bench.reconciler.holds_any());
  // Frozen for longer than the lease: the guardian gave it back.
  scene["a"].quota = kUnlimited;

  bench.reconciler.forget();
  EXPECT_FALSE(bench.reconciler.holds_any());
  bench.reconciler.adopt(recover(bench.journal, "boot", scene.seen), scene.seen);
  for (int i = 0; i < 4; ++i) bench.tick("a:25");

  EXPECT_EQ(bench.kernel("a"), "a 2503/100000");
  for (int i = 0; i < 60; ++i) bench.tick("");
  EXPECT_EQ(bench.kernel("a"), "a -1/100000");
  EXPECT_FALSE(bench.reconciler.holds_any());
}

TEST(Reconciler, ContainerMissingFromAListStillGetsItsOriginal) {
  Scene scene = pair_of();
  scene["a"].quota = CpuQuota{30'000, 100'000};
  RuntimeBench bench{scene};
  bench.tick("a:25");
  bench.tick("a:25");
  Container left_out = scene["a"];
  scene.remove("a");
  bench.tick("a:25");
  EXPECT_FALSE(bench.reconciler.holds_any());

  scene.seen.containers.push_back(left_out);
  bench.tick("a:25");
  EXPECT_TRUE(bench.reconciler.holds_any());
  for (int i = 0; i < 4; ++i) bench.tick("");

  EXPECT_EQ(bench.kernel("a"), "a 30000/100000");
}

TEST(Reconciler, DryRunTouchesNothingAndWritesNothing) {
  Scene scene = pair_of();
  RuntimeBench bench{scene, {.boot_id = "boot", .dry_run = true}};
  Decision wanted = wanting("a:25");
  wanted.sacrifice = Sacrifice{.id = "b"};
  EXPECT_EQ(bench.tick(wanted), "");
  EXPECT_EQ(bench.journal, "");
  EXPECT_EQ(bench.kernel("a"), "a -1/100000");
  ASSERT_EQ(bench.reconciler.held().size(), 1U);
  EXPECT_EQ(bench.reconciler.held()[0].quota, signature(25));
}

TEST(Reconciler, SwitchOffReleasesAllAndVerifiesThenIdles) {
  Scene scene = pair_of();
  RuntimeBench bench{scene};
  bench.tick("a:25 b:25");
  bench.reconciler.restore_all();
  EXPECT_FALSE(bench.reconciler.is_restored());
  EXPECT_EQ(bench.tick("a:25 b:25"), "a -1/100000, read a, drop a, b -1/100000, read b, drop b");
  EXPECT_TRUE(bench.reconciler.is_restored());
  EXPECT_EQ(bench.tick("a:25 b:25"), "");
}

TEST(Reconciler, TermDuringAReleaseFinishesIt) {
  Scene scene = pair_of();
  RuntimeBench bench{scene};
  bench.tick("a:25 b:25");
  bench.outcomes({"ok", "failed"});
  bench.tick("");
  bench.reconciler.restore_all();
  EXPECT_FALSE(bench.reconciler.is_restored());
  bench.tick("");
  EXPECT_EQ(bench.kernel("b"), "b -1/100000");
  EXPECT_TRUE(bench.reconciler.is_restored());
}

TEST(Reconciler, VictimIsStoppedUnderItsQuotaThenTheNextMayBe) {
  Scene scene = pair_of();
  RuntimeBench bench{scene};
  bench.tick("a:25 b:25");
  Decision wanted = wanting("b:25");
  wanted.sacrifice = Sacrifice{.id = "a", .grace = std::chrono::seconds{2}, .why = "last resort"};
  EXPECT_EQ(bench.tick(wanted), "journal a, stop a, look");
  EXPECT_EQ(bench.tick("b:25"), "drop a");
}

TEST(Reconciler, VictimThatDoesNotGoHasItsQuotaLiftedInTheEnd) {
  Scene scene = pair_of();
  RuntimeBench bench{scene};
  bench.tick("a:25 b:25");
  bench.outcomes({"failed"});
  Decision wanted = wanting("b:25");
  wanted.sacrifice = Sacrifice{.id = "a", .grace = std::chrono::seconds{2}};
  EXPECT_EQ(bench.tick(wanted), "journal a, stop a failed, look");
  EXPECT_EQ(bench.tick("b:25"), "a -1/100000, read a, drop a");
}

TEST(Reconciler, DeepestQuotaOfOneThatMayNotBeFrozenComesWithABoundOnItsMemory) {
  Scene scene = pair_of();
  scene["b"].marks.batch = true;
  Reconciler reconciler{{.boot_id = "boot"}};
  Decision wanted = wanting("a:25 b:1");
  for (Throttle& each : wanted.throttled) each.ladder_step = 4;
  std::string bounds;
  for (const Action& action : reconciler.tick(wanted, scene.seen)) {
    const auto* update = std::get_if<Update>(&action);
    if (update != nullptr) bounds += update->id + ":" + std::to_string(update->memory_high) + " ";
  }
  const std::int64_t bound = *scene["a"].working_set + kMiB;
  EXPECT_EQ(bounds, "a:" + std::to_string(bound) + " b:0 ");
}

TEST(Reconciler, OneSacrificeAtATime) {
  Scene scene = pair_of();
  RuntimeBench bench{scene};
  Decision wanted;
  wanted.sacrifice = Sacrifice{.id = "a", .grace = std::chrono::seconds{2}};
  bench.silent = true;
  auto actions = bench.reconciler.tick(wanted, scene.seen);
  ASSERT_EQ(actions.size(), 2U);
  EXPECT_EQ(std::get<Stop>(actions[1]).id, "a");
  wanted.sacrifice->id = "b";
  for (int i = 0; i < 10; ++i) {
    EXPECT_TRUE(bench.reconciler.tick(wanted, scene.after(250).seen).empty());
  }
  actions = bench.reconciler.tick(wanted, scene.remove("a").after(250).seen);
  ASSERT_EQ(actions.size(), 2U);
  EXPECT_EQ(std::get<Stop>(actions[1]).id, "b");
}

TEST(Reconciler, FailedStopLeavesTheChoiceToTheRule) {
  Scene scene = pair_of();
  RuntimeBench bench{scene};
  bench.outcomes({"unavailable"});
  Decision wanted;
  wanted.sacrifice = Sacrifice{.id = "a", .grace = std::chrono::seconds{2}};
  EXPECT_EQ(bench.tick(wanted), "journal a, stop a unavailable, look");
  EXPECT_EQ(bench.tick(""), "");
  EXPECT_EQ(bench.tick(wanted), "journal a, stop a, look");
}

TEST(Reconciler, HeldThrottlesNameTheContainerTheTimeAndTheReason) {
  Scene scene = pair_of();
  RuntimeBench bench{scene};
  bench.tick("a:25");
  const TimePoint since = scene.seen.now;
  bench.tick("a:100", 5000);
  const auto held = bench.reconciler.held();
  ASSERT_EQ(held.size(), 1U);
  EXPECT_EQ(held[0].container.pod, "pod-a");
  EXPECT_EQ(held[0].since, since);
  EXPECT_EQ(held[0].quota, signature(100));
  EXPECT_TRUE(held[0].in_force);
  EXPECT_EQ(held[0].why, "test");
}

}  // namespace
}  // namespace sluice::node_agent
