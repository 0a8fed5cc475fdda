#include "memory-pressure/core/recovery.h"

#include "tests/unit/memory-pressure/core/runtime_bench.h"

#include <gtest/gtest.h>

#include "memory-pressure/core/quota.h"

namespace sluice::node_agent {
namespace {

/// `ours a b, strays c, watched d, forgotten e`
std::string shown(const Recovery& recovery) {
  std::string text = "ours";
  for (const auto& record : recovery.ours) text += " " + record.id;
  text += ", strays";
  for (const auto& stray : recovery.strays) text += " " + stray.id;
  text += ", watched";
  for (const auto& record : recovery.watched) text += " " + record.id;
  text += ", forgotten";
  for (const auto& id : recovery.forgotten) text += " " + id;
  return text;
}

/// A node on which an earlier run throttled a to e, which had 300m each.
struct Crashed {
  Scene scene;
  std::string journal;

  Crashed() {
    for (const char* id : {"a", "b", "c", "d", "e"}) {
      scene.add(id, 100, 200).quota = CpuQuota{30'000, 100'000};
    }
    RuntimeBench before{scene};
    before.tick("a:25 b:25 c:25 d:25 e:25");
    journal = before.journal;
  }

  Recovery read(std::string_view boot = "boot") { return recover(journal, boot, scene.seen); }
};

TEST(Recovery, CrashWithFivePausedRestoresFiveInTheFirstTick) {
  Crashed crashed;
  RuntimeBench after{crashed.scene};
  after.reconciler.adopt(crashed.read(), crashed.scene.seen);
  after.tick("", 250);
  for (const char* id : {"a", "b", "c", "d", "e"}) {
    EXPECT_EQ(after.kernel(id), std::string{id} + " 30000/100000");
  }
  EXPECT_TRUE(after.reconciler.is_restored());
}

TEST(Recovery, ThrottlesThatAreStillWantedAreKeptWithoutACall) {
  Crashed crashed;
  RuntimeBench after{crashed.scene};
  after.reconciler.adopt(crashed.read(), crashed.scene.seen);
  EXPECT_EQ(after.tick("a:25 b:25 c:25 d:25 e:25"), "");
  EXPECT_EQ(after.calls, 0U);
  after.tick("");
  EXPECT_EQ(after.kernel("e"), "e 30000/100000");
}

TEST(Recovery, CrashBetweenJournalAndUpdateDropsTheEntry) {
  Crashed crashed;
  crashed.scene["b"].quota = CpuQuota{30'000, 100'000};
  EXPECT_EQ(shown(crashed.read()), "ours a c d e, strays, watched b, forgotten");
}

TEST(Recovery, CallThatOutlivesItsCallerIsUndoneAndTheOriginalKept) {
  Crashed crashed;
  crashed.scene["b"].quota = CpuQuota{30'000, 100'000};
  RuntimeBench after{crashed.scene};
  after.reconciler.adopt(crashed.read(), crashed.scene.seen);
  EXPECT_EQ(after.tick("a:25 c:25 d:25 e:25", 1000), "");
  crashed.scene["b"].quota = signature(25);  // now it arrives
  std::string told;
  for (int i = 0; i < 60; ++i) told += after.tick("a:25 c:25 d:25 e:25") + ";";
  EXPECT_EQ(after.kernel("b"), "b 30000/100000");
  EXPECT_NE(told.find("drop b"), std::string::npos);
}

TEST(Recovery, CrashBetweenUpdateAndAnswerRestores) {
  Scene scene;
  scene.add("a", 100, 200).quota = CpuQuota{30'000, 100'000};
  RuntimeBench before{scene};
  before.silent = true;
  before.tick("a:25");
  EXPECT_EQ(shown(recover(before.journal, "boot", scene.seen)),
            "ours a, strays, watched, forgotten");
}

TEST(Recovery, CrashDuringADeeperThrottleKeepsBothValues) {
  Crashed crashed;
  RuntimeBench before{crashed.scene};
  before.reconciler.adopt(crashed.read(), crashed.scene.seen);
  before.silent = true;
  before.tick("a:10 b:25 c:25 d:25 e:25");
  crashed.journal += before.journal;
  crashed.scene["a"].quota = signature(25);
  EXPECT_TRUE(shown(crashed.read()).starts_with("ours a b"));
}

TEST(Recovery, ForeignValueIsLeftUnchanged) {
  Crashed crashed;
  crashed.scene["c"].quota = CpuQuota{70'000, 100'000};
  EXPECT_EQ(shown(crashed.read()), "ours a b d e, strays, watched c, forgotten");
}

TEST(Recovery, GoneContainersAreDropped) {
  Crashed crashed;
  crashed.scene.remove("a");
  EXPECT_EQ(shown(crashed.read()), "ours b c d e, strays, watched, forgotten a");
}

TEST(Recovery, UnreadableQuotaIsRestoredToBeSure) {
  Crashed crashed;
  crashed.scene["a"].quota.reset();
  EXPECT_TRUE(shown(crashed.read()).starts_with("ours a b"));
}

TEST(Recovery, RoundedValueIsOursToo) {
  Crashed crashed;
  crashed.scene["a"].quota = CpuQuota{3000, 100'000};
  EXPECT_TRUE(shown(crashed.read()).starts_with("ours a b"));
}

TEST(Recovery, OtherBootIsDiscarded) {
  Crashed crashed;
  for (Container& one : crashed.scene.seen.containers) one.quota = kUnlimited;
  const Recovery found = crashed.read("another");
  EXPECT_EQ(shown(found), "ours, strays, watched, forgotten");
  EXPECT_EQ(found.skipped_lines, 5U);
}

TEST(Recovery, TornTailIsSkippedAndTheQuotaIdentifiesTheThrottle) {
  Crashed crashed;
  crashed.journal.resize(crashed.journal.size() - 10);
  const Recovery found = crashed.read();
  EXPECT_EQ(shown(found), "ours a b c d, strays e, watched, forgotten");
  EXPECT_EQ(found.skipped_lines, 1U);
  EXPECT_EQ(found.strays[0].original, kUnlimited);
}

TEST(Recovery, LostJournalFindsOurSignaturesAndRestoresToThePodsLimit) {
  Crashed crashed;
  crashed.journal.clear();
  for (Container& one : crashed.scene.seen.containers) one.pod_quota_us = 30'000;
  RuntimeBench after{crashed.scene};
  after.reconciler.adopt(crashed.read(), crashed.scene.seen);
  after.tick("");
  for (const char* id : {"a", "e"}) EXPECT_EQ(after.kernel(id), std::string{id} + " 30000/100000");
}

TEST(Recovery, BinaryGarbageIsSkipped) {
  Crashed crashed;
  std::string rubbish;
  for (int i = 0; i < 4096; ++i) rubbish += static_cast<char>(i * 7);
  crashed.journal = rubbish + "\n" + crashed.journal + rubbish;
  EXPECT_EQ(shown(crashed.read()), "ours a b c d e, strays, watched, forgotten");
}

TEST(Recovery, CompactedJournalHasTheSameContent) {
  Crashed crashed;
  RuntimeBench after{crashed.scene};
  after.reconciler.adopt(crashed.read(), crashed.scene.seen);
  const std::string before = shown(crashed.read());
  crashed.journal.clear();
  for (const JournalRecord& record : after.reconciler.live_records(crashed.scene.seen.now)) {
    crashed.journal += encode(record);
  }
  EXPECT_EQ(shown(crashed.read()), before);
}

TEST(Recovery, GenerationsContinueAcrossStarts) {
  Crashed crashed;
  const Recovery found = crashed.read();
  EXPECT_EQ(found.generation, 5U);
  RuntimeBench after{crashed.scene};
  after.reconciler.adopt(found, crashed.scene.seen);
  for (int i = 0; i < 12; ++i) after.tick("", 1000);
  EXPECT_EQ(decode(after.journal.substr(0, after.journal.find('\n')))->generation, 6U);
}

TEST(Recovery, SacrificesAndTheLeaseAreRead) {
  Scene scene;
  const JournalRecord stopped{.kind = RecordKind::sacrifice, .boot_id = "boot", .id = "x"};
  const JournalRecord lease{.kind = RecordKind::lease,
                            .boot_id = "boot",
                            .at = TimePoint{std::chrono::seconds{99}},
                            .id = "41"};
  const Recovery found = recover(encode(stopped) + encode(lease), "boot", scene.seen);
  EXPECT_EQ(found.sacrificed, std::vector<std::string>{"x"});
  EXPECT_EQ(found.lease, (Lease{.by = "41", .until = TimePoint{std::chrono::seconds{99}}}));
}

TEST(Recovery, ListsFrozenContainersTheOldestFirst) {
  Scene scene;
  scene.add("young", 10, 200);
  scene.add("old", 10, 200).started = scene.seen.now - std::chrono::hours{1};
  std::string journal;
  const auto write = [&](RecordKind kind, const std::string& id, std::int64_t second) {
    journal += encode({.kind = kind,
                       .boot_id = "boot",
                       .at = scene.seen.now + std::chrono::seconds{second},
                       .id = id,
                       .cgroup = "/pods/" + id});
  };
  write(RecordKind::frozen, "young", 0);
  write(RecordKind::frozen, "thawed", 1);
  write(RecordKind::frozen, "old", 2);
  write(RecordKind::thawed, "thawed", 3);
  write(RecordKind::frozen, "unlisted", 4);

  std::string found;
  for (const JournalRecord& record : recover(journal, "boot", scene.seen).frozen) {
    found += record.id + " " + record.cgroup + ", ";
  }

  EXPECT_EQ(found, "old /pods/old, young /pods/young, unlisted /pods/unlisted, ");
}

}  // namespace
}  // namespace sluice::node_agent
