// Goal: no error, lost answer or late effect leaves a container throttled, or takes a quota for
// ours that is not. Method: the bench lets calls fail with no, half or all of their effect.

#include "tests/unit/memory-pressure/core/runtime_bench.h"

#include <gtest/gtest.h>

#include "memory-pressure/core/quota.h"
#include "memory-pressure/core/reconciler.h"

namespace sluice::node_agent {
namespace {

Scene one_of() {
  Scene scene;
  scene.add("a", 100, 200).quota = CpuQuota{30'000, 100'000};
  return scene;
}

TEST(ReconcilerFaults, FailedHalfWayIsReadBackAndSentWholeAgain) {
  Scene scene = one_of();
  RuntimeBench bench{scene};
  bench.outcomes({"~failed"});
  EXPECT_EQ(bench.tick("a:1"), "journal a, a 1003/1000000 ~failed, read a");
  EXPECT_EQ(bench.kernel("a"), "a 1003/100000");
  EXPECT_EQ(bench.tick("a:1"), "a 1003/1000000, read a");
  EXPECT_EQ(bench.kernel("a"), "a 1003/1000000");
}

TEST(ReconcilerFaults, UpdateThatTookEffectDespiteAnErrorIsSentAgain) {
  Scene scene = one_of();
  RuntimeBench bench{scene};
  bench.outcomes({"+failed"});
  bench.tick("a:25");
  EXPECT_EQ(bench.tick("a:25"), "a 2503/100000, read a");
  EXPECT_EQ(bench.tick("a:25"), "");
}

TEST(ReconcilerFaults, RefusedThrottleIsNotRepeatedInALoop) {
  Scene scene = one_of();
  RuntimeBench bench{scene};
  bench.outcomes({"refused", "refused", "refused"});
  std::string all;
  for (int i = 0; i < 100; ++i) all += bench.tick("a:25");
  EXPECT_EQ(bench.calls, 4U);  // three refusals, and the original to be sure
  EXPECT_NE(all.find("alarm a"), std::string::npos);
  EXPECT_EQ(bench.kernel("a"), "a 30000/100000");
  EXPECT_TRUE(bench.reconciler.is_restored());
}

TEST(ReconcilerFaults, RetriesOfFailuresSpreadOut) {
  Scene scene = one_of();
  RuntimeBench bench{scene};
  bench.outcomes({"failed", "failed", "failed", "failed", "failed", "failed", "failed", "failed",
                  "failed", "failed", "failed", "failed", "failed", "failed", "failed"});
  for (int i = 0; i < 400; ++i) bench.tick("a:25", 50);  // 20 s
  EXPECT_GE(bench.calls, 6U);
  EXPECT_LE(bench.calls, 10U);
}

TEST(ReconcilerFaults, PodWithLessThanTheOriginalGetsItsOwnLimitFirstAndTheRestLater) {
  Scene scene = one_of();
  RuntimeBench bench{scene};
  bench.tick("a:25");
  scene["a"].pod_quota_us = 20'000;
  bench.outcomes({"refused"});
  EXPECT_EQ(bench.tick(""), "a 30000/100000 refused, alarm a, read a");
  EXPECT_EQ(bench.tick(""), "a 20000/100000, read a");
  EXPECT_TRUE(bench.reconciler.is_restored());
  for (int i = 0; i < 10; ++i) EXPECT_EQ(bench.tick(""), "");

  scene["a"].pod_quota_us = 30'000;
  EXPECT_EQ(bench.tick(""), "a 30000/100000, read a, drop a");
}

TEST(ReconcilerFaults, RuntimeDownKeepsStateAndBacksOffUpToFiveSeconds) {
  Scene scene = one_of();
  scene.add("b", 100, 200);
  RuntimeBench bench{scene};
  bench.tick("a:25");
  bench.outcomes({"unavailable", "unavailable", "unavailable", "unavailable", "unavailable",
                  "unavailable", "unavailable", "unavailable", "unavailable", "unavailable",
                  "unavailable", "unavailable"});
  scene.seen.runtime_answers = false;
  const std::size_t before = bench.calls;
  for (int i = 0; i < 200; ++i) bench.tick("", 100);  // 20 s
  EXPECT_TRUE(bench.reconciler.is_degraded());
  EXPECT_LE(bench.calls - before, 10U);
  EXPECT_EQ(bench.reconciler.held().size(), 1U);
  EXPECT_EQ(bench.kernel("a"), "a 2503/100000");

  bench.outcomes({});
  scene.seen.runtime_answers = true;
  for (int i = 0; i < 60; ++i) bench.tick("", 100);
  EXPECT_FALSE(bench.reconciler.is_degraded());
  EXPECT_EQ(bench.kernel("a"), "a 30000/100000");
}

TEST(ReconcilerFaults, RuntimeRestartWhilePausedNeedsNoCall) {
  Scene scene = one_of();
  RuntimeBench bench{scene};
  bench.tick("a:25");
  scene.seen.runtime_answers = false;
  for (int i = 0; i < 5; ++i) EXPECT_EQ(bench.tick("a:25"), "");
  scene.seen.runtime_answers = true;
  EXPECT_EQ(bench.tick("a:25"), "");
  EXPECT_EQ(bench.calls, 1U);
}

TEST(ReconcilerFaults, HangingCallIsReadBackAfterTwoSecondsAndRetriedOncePerTick) {
  Scene scene = one_of();
  RuntimeBench bench{scene};
  bench.silent = true;
  EXPECT_EQ(bench.tick("a:25"), "journal a, a 2503/100000");
  for (int i = 0; i < 7; ++i) EXPECT_EQ(bench.tick("a:25"), "") << i;
  EXPECT_EQ(bench.tick("a:25"), "read a");
  bench.silent = false;
  EXPECT_EQ(bench.tick("a:25"), "a 2503/100000, read a");
}

TEST(ReconcilerFaults, OneCallPerContainerIsInFlight) {
  Scene scene = one_of();
  RuntimeBench bench{scene};
  bench.silent = true;
  bench.tick("a:25");
  EXPECT_EQ(bench.tick("a:100"), "");
  EXPECT_EQ(bench.tick(""), "");
  EXPECT_EQ(bench.calls, 1U);
}

TEST(ReconcilerFaults, UpdateThatTakesEffectAfterItWasGivenUpIsUndone) {
  Scene scene = one_of();
  RuntimeBench bench{scene};
  bench.outcomes({"timed_out"});
  bench.tick("a:25");
  EXPECT_EQ(bench.tick(""), "a 30000/100000, read a");
  EXPECT_FALSE(bench.reconciler.is_restored());
  bench.tick("", 1000);
  scene["a"].quota = signature(25);  // now it arrives
  EXPECT_EQ(bench.tick(""), "read a");
  EXPECT_EQ(bench.tick(""), "a 30000/100000, read a");
  std::string rest;
  for (int i = 0; i < 60; ++i) rest += bench.tick("");
  EXPECT_EQ(rest, "drop a");
  EXPECT_EQ(bench.kernel("a"), "a 30000/100000");
}

TEST(ReconcilerFaults, LateAnswerOfACallGivenUpIsIgnored) {
  Scene scene = one_of();
  RuntimeBench bench{scene};
  bench.silent = true;
  const auto actions = bench.reconciler.tick(wanting("a:25"), scene.after(250).seen);
  const std::uint64_t call = std::get<Update>(actions[1]).call;
  for (int i = 0; i < 3; ++i) bench.tick("", 1000);
  EXPECT_TRUE(bench.reconciler.answered(call, Outcome::ok, scene.seen.now).empty());
  EXPECT_TRUE(bench.reconciler.read_back(call, kUnlimited, scene.seen.now).empty());
}

TEST(ReconcilerFaults, NoContainerIsThrottledWithoutAJournalEntry) {
  Scene scene = one_of();
  RuntimeBench bench{scene};
  bench.disk_full = true;
  for (int i = 0; i < 10; ++i) EXPECT_EQ(bench.tick("a:25"), "");
  EXPECT_EQ(bench.kernel("a"), "a 30000/100000");

  bench.disk_full = false;
  std::string told;
  for (int i = 0; i < 6; ++i) told += bench.tick("a:25", 1000);
  EXPECT_NE(told.find("journal a, a 2503/100000"), std::string::npos);
}

TEST(ReconcilerFaults, ObservationOlderThanTheAnswerIsNotAForeignChange) {
  Scene scene = one_of();
  RuntimeBench bench{scene};
  bench.tick("a:25");
  // Gathered before the update was answered, it still shows the original.
  Observation stale = scene.seen;
  stale.containers[0].quota = CpuQuota{30'000, 100'000};
  EXPECT_TRUE(bench.reconciler.tick(wanting("a:25"), stale).empty());
}

TEST(ReconcilerFaults, LateEffectIsSeenThoughTheClockWasSetBack) {
  Scene scene = one_of();
  RuntimeBench bench{scene};
  bench.outcomes({"timed_out"});
  bench.tick("a:25");
  bench.tick("");
  bench.tick("", -3'600'000);
  scene["a"].quota = signature(25);
  for (int i = 0; i < 4; ++i) bench.tick("");
  EXPECT_EQ(bench.kernel("a"), "a 30000/100000");
}

TEST(ReconcilerFaults, ClockStepsLeaveNoContainerThrottled) {
  Scene scene = one_of();
  RuntimeBench bench{scene};
  bench.tick("a:25");
  bench.tick("a:25", -86'400'000);
  bench.outcomes({"failed"});
  bench.tick("", 50);
  for (int i = 0; i < 10; ++i) bench.tick("", 250);
  EXPECT_EQ(bench.kernel("a"), "a 30000/100000");
}

}  // namespace
}  // namespace sluice::node_agent
