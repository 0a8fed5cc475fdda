// Goal: the reconciler freezes what it has written down, and thaws whom it froze, whatever fails.
#include "tests/unit/memory-pressure/core/runtime_bench.h"

#include <gtest/gtest.h>

#include "memory-pressure/core/recovery.h"

namespace sluice::node_agent {
namespace {

Scene node_of(std::string_view ids) {
  Scene scene;
  for (const char id : ids) {
    scene.after(1000);
    Container& one = scene.add(std::string(1, id), 10, 100, 0);
    one.cgroup = std::string{"/pods/"} + id;
    one.frozen = false;
    one.marks.batch = true;
  }
  return scene;
}

std::string frozen_in(const Scene& scene) {
  std::string ids;
  for (const Container& one : scene.seen.containers) {
    if (one.frozen.value_or(false)) ids += one.id;
  }
  return ids;
}

TEST(Freezes, AreWrittenDownBeforeTheyTakePlaceAndDroppedAfterwards) {
  Scene scene = node_of("ab");
  RuntimeBench bench{scene};
  EXPECT_EQ(bench.tick("a:frozen b:frozen"), "journal a, journal b, freeze a, freeze b");
  EXPECT_EQ(bench.tick("a:frozen b:frozen"), "");
  EXPECT_TRUE(bench.reconciler.holds_any());
  EXPECT_EQ(bench.tick("b:frozen"), "thaw a, drop a");
  EXPECT_EQ(frozen_in(scene), "b");
  EXPECT_EQ(bench.tick(""), "thaw b, drop b");
  EXPECT_FALSE(bench.reconciler.holds_any());
}

TEST(Freezes, OfOneThatCannotBeWrittenDownAreLeftOut) {
  Scene scene = node_of("a");
  RuntimeBench bench{scene};
  bench.disk_full = true;
  EXPECT_EQ(bench.tick("a:frozen"), "");
  EXPECT_EQ(frozen_in(scene), "");
  bench.disk_full = false;
  EXPECT_EQ(bench.tick("a:frozen"), "journal a, freeze a");
}

TEST(Freezes, TheOldestIsThawedFirst) {
  Scene scene = node_of("cab");
  RuntimeBench bench{scene};
  bench.tick("a:frozen b:frozen c:frozen");
  EXPECT_EQ(bench.tick(""), "thaw c, drop c, thaw a, drop a, thaw b, drop b");
}

TEST(Freezes, EndOneASecondWhenAllIsRestoredOnAFullNode) {
  Scene scene = node_of("abc");
  RuntimeBench bench{scene, {.boot_id = "boot", .lower = 0.84}};
  bench.tick("a:frozen b:frozen c:frozen");
  bench.reconciler.restore_all();
  scene.used(900);
  EXPECT_EQ(bench.tick("", 500), "thaw a, drop a");
  EXPECT_EQ(bench.tick("", 500), "");
  EXPECT_EQ(bench.tick("", 500), "thaw b, drop b");
  EXPECT_FALSE(bench.reconciler.is_restored());
  scene.used(800);
  EXPECT_EQ(bench.tick("", 50), "thaw c, drop c");
  EXPECT_TRUE(bench.reconciler.is_restored());
}

TEST(Freezes, FailedThawIsTriedAgainUntilItSucceeds) {
  Scene scene = node_of("a");
  RuntimeBench bench{scene};
  bench.tick("a:frozen");
  bench.outcomes({"failed", "failed", "failed", "failed", "failed", "failed"});
  for (int i = 0; i < 20; ++i) bench.tick("", 1000);
  EXPECT_EQ(frozen_in(scene), "");
  EXPECT_TRUE(bench.reconciler.is_restored());
}

TEST(Freezes, OneThatCannotBeFrozenIsLeftToItsQuota) {
  Scene scene = node_of("a");
  RuntimeBench bench{scene};
  bench.outcomes({"refused", "refused", "refused"});
  std::string all;
  for (int i = 0; i < 5; ++i) all += bench.tick("a:frozen", 1000) + "; ";
  EXPECT_NE(all.find("alarm a"), std::string::npos);
  EXPECT_TRUE(bench.reconciler.is_freezer_refused("a"));
  EXPECT_EQ(bench.tick("a:25"), "journal a, a 2503/100000, read a");
  scene.remove("a");
  bench.tick("");
  EXPECT_FALSE(bench.reconciler.is_freezer_refused("a"));
}

TEST(Freezes, ThawByAnotherProgramIsUndoneAFewTimes) {
  Scene scene = node_of("a");
  RuntimeBench bench{scene};
  bench.tick("a:frozen");
  for (int i = 0; i < 2; ++i) {
    scene["a"].frozen = false;
    EXPECT_EQ(bench.tick("a:frozen"), "journal a, freeze a");
  }
  scene["a"].frozen = false;
  EXPECT_EQ(bench.tick("a:frozen"), "alarm a, look, drop a");
  EXPECT_TRUE(bench.reconciler.is_freezer_refused("a"));
}

TEST(Freezes, ReadingsFromBeforeTheLastWriteAreIgnored) {
  Scene scene = node_of("a");
  RuntimeBench bench{scene};
  bench.tick("a:frozen");
  Observation old = scene.seen;
  old.containers.front().frozen = false;
  for (int i = 0; i < 5; ++i) {
    old.now += std::chrono::milliseconds{20};
    EXPECT_TRUE(bench.reconciler.tick(wanting("a:frozen"), old).empty());
  }
}

TEST(Freezes, OneFrozenByAnotherProgramIsNotTouched) {
  Scene scene = node_of("a");
  scene["a"].frozen = true;
  RuntimeBench bench{scene};
  EXPECT_EQ(bench.tick("a:frozen"), "");
  EXPECT_EQ(bench.tick(""), "");
  EXPECT_EQ(frozen_in(scene), "a");
}

TEST(Freezes, OfAnEndedContainerAreDropped) {
  Scene scene = node_of("a");
  RuntimeBench bench{scene};
  bench.tick("a:frozen");
  scene.remove("a");
  bench.outcomes({"not_found"});
  EXPECT_EQ(bench.tick(""), "thaw a not_found, drop a, look");
  EXPECT_FALSE(bench.reconciler.holds_any());
}

TEST(Freezes, OneThatIsOnlyMissingInTheListIsThawed) {
  Scene scene = node_of("a");
  RuntimeBench bench{scene};
  bench.tick("a:frozen");
  const Container missing = scene["a"];
  scene.remove("a");
  EXPECT_EQ(bench.tick("a:frozen"), "thaw a, drop a");
}

TEST(Freezes, LostAnswerOfAWriteIsWaitedForNoLongerThanItsDeadline) {
  Scene scene = node_of("a");
  RuntimeBench bench{scene};
  bench.silent = true;
  EXPECT_EQ(bench.tick("a:frozen"), "journal a, freeze a");
  EXPECT_EQ(bench.tick("", 1000), "");
  bench.silent = false;
  EXPECT_EQ(bench.tick("", 1000), "thaw a, drop a");
}

TEST(Freezes, OfAKilledProcessAreKeptOrThawedByTheNext) {
  Scene scene = node_of("abcdefgh");
  RuntimeBench before{scene};
  before.tick("a:frozen b:frozen c:frozen d:frozen e:frozen f:frozen g:frozen h:frozen");
  RuntimeBench after{scene};
  const Recovery found = recover(before.journal, "boot", scene.seen);
  ASSERT_EQ(found.frozen.size(), 8U);
  after.reconciler.adopt(found, scene.seen);
  EXPECT_EQ(after.tick("g:frozen h:frozen"),
            "thaw a, drop a, thaw b, drop b, thaw c, drop c, thaw d, drop d, thaw e, drop e, "
            "thaw f, drop f");
  EXPECT_EQ(frozen_in(scene), "gh");
}

TEST(Freezes, OfOneThatTheRuntimeDoesNotListAreThawedByThePathInTheJournal) {
  Scene scene = node_of("a");
  RuntimeBench before{scene};
  before.tick("a:frozen");
  scene.remove("a");
  RuntimeBench after{scene};
  after.reconciler.adopt(recover(before.journal, "boot", scene.seen), scene.seen);
  EXPECT_EQ(after.tick(""), "thaw a, drop a");
}

TEST(Freezes, WithoutAJournalThoseOfJobsAreThawed) {
  Scene scene = node_of("abc");
  scene["a"].frozen = scene["b"].frozen = scene["c"].frozen = true;
  scene["b"].marks.batch = false;
  scene["c"].cgroup.clear();  // the runtime shows it as paused
  RuntimeBench after{scene};
  after.reconciler.adopt(recover("", "boot", scene.seen), scene.seen);
  EXPECT_EQ(after.tick(""), "thaw a, drop a");
}

TEST(Freezes, AreInTheCompactedJournal) {
  Scene scene = node_of("ab");
  RuntimeBench bench{scene};
  bench.tick("a:frozen b:25");
  std::string journal;
  for (const JournalRecord& record : bench.reconciler.live_records(scene.seen.now)) {
    journal += encode(record);
  }
  const Recovery found = recover(journal, "boot", scene.seen);
  ASSERT_EQ(found.frozen.size(), 1U);
  EXPECT_EQ(found.frozen.front().cgroup, "/pods/a");
  EXPECT_EQ(found.ours.size(), 1U);
}

TEST(Freezes, AreShownApartFromQuotas) {
  Scene scene = node_of("a");
  RuntimeBench bench{scene};
  bench.tick("a:frozen");
  bench.tick("a:frozen");
  const auto held = bench.reconciler.held();
  ASSERT_EQ(held.size(), 1U);
  EXPECT_TRUE(held.front().frozen);
  EXPECT_TRUE(held.front().in_force);
}

TEST(Freezes, OneThatIsToBeThrottledInsteadIsThawed) {
  Scene scene = node_of("a");
  RuntimeBench bench{scene};
  bench.tick("a:frozen");
  EXPECT_EQ(bench.tick("a:25"), "thaw a, drop a, journal a, a 2503/100000, read a");
}

TEST(Freezes, TheLatencyOfNineOfTenIsKnown) {
  Scene scene = node_of("a");
  RuntimeBench bench{scene};
  EXPECT_FALSE(bench.reconciler.update_latency());
  bench.tick("a:frozen");
  EXPECT_EQ(bench.reconciler.update_latency(), Duration::zero());
}

TEST(Freezes, OfAVictimStayWhileItIsStopped) {
  Scene scene = node_of("ab");
  RuntimeBench bench{scene};
  bench.tick("a:25");
  Decision wanted = wanting("b:frozen");
  wanted.sacrifice = Sacrifice{.id = "a"};
  EXPECT_EQ(bench.tick(wanted), "journal b, freeze b, journal a, stop a, look");
}

}  // namespace
}  // namespace sluice::node_agent
