#include "memory-pressure/io/journal_file.h"

#include "tests/unit/memory-pressure/io/fixture_tree.h"

#include <gtest/gtest.h>

#include "memory-pressure/core/recovery.h"
#include "memory-pressure/io/state_lock.h"
#include <array>
#include <filesystem>
#include <fstream>

namespace sluice::node_agent {
namespace {

using testing::FixtureTree;
using testing::Hierarchy;

JournalRecord throttle(const std::string& id) {
  return {.kind = RecordKind::throttle,
          .boot_id = "boot-1",
          .generation = 1,
          .at = TimePoint{std::chrono::seconds{1}},
          .id = id,
          .pod_uid = "uid",
          .attempt = 0,
          .original = {30'000, 100'000},
          .ours = {2503, 100'000},
          .ladder_step = 3,
          .why = "memory"};
}

class Journal : public ::testing::Test {
 protected:
  std::string directory() const { return tree.root(); }

  JournalFile open() const {
    auto journal = JournalFile::open(directory());
    EXPECT_TRUE(journal.has_value());
    return std::move(*journal);
  }

  static void append(JournalFile& journal, const std::string& id) {
    const std::array records{throttle(id)};
    EXPECT_FALSE(journal.append(records).has_value());
  }

  FixtureTree tree{Hierarchy::v1};
};

TEST_F(Journal, RecordsAreKeptForTheNextRun) {
  {
    JournalFile journal = open();
    append(journal, "c1");
    append(journal, "c2");
  }

  const JournalFile next = open();

  EXPECT_EQ(*next.content(), encode(throttle("c1")) + encode(throttle("c2")));
}

TEST_F(Journal, CompactionReplacesEverything) {
  JournalFile journal = open();
  for (int i = 0; i < 100; ++i) append(journal, "c" + std::to_string(i));
  const std::array kept{throttle("c7")};

  ASSERT_FALSE(journal.compact(kept).has_value());
  append(journal, "c8");

  EXPECT_EQ(*open().content(), encode(throttle("c7")) + encode(throttle("c8")));
  EXPECT_EQ(journal.size(), open().size());
}

// Row 29: a torn tail costs its own line only.
TEST_F(Journal, ATornTailIsSkippedAndTheRestIsKept) {
  {
    JournalFile journal = open();
    append(journal, "c1");
    append(journal, "c2");
  }
  std::filesystem::resize_file(directory() + "/journal",
                               std::filesystem::file_size(directory() + "/journal") - 20);
  Observation seen;
  seen.containers.emplace_back();
  seen.containers[0].id = "c1";
  seen.containers[0].quota = CpuQuota{2503, 100'000};

  const Recovery recovery = recover(*open().content(), "boot-1", seen);

  ASSERT_EQ(recovery.ours.size(), 1U);
  EXPECT_EQ(recovery.ours[0].original, (CpuQuota{30'000, 100'000}));
  EXPECT_EQ(recovery.skipped_lines, 1U);
}

TEST_F(Journal, AHugeFileIsNotRead) {
  std::ofstream{directory() + "/journal"} << "x";
  std::filesystem::resize_file(directory() + "/journal", JournalFile::kReadBytesMax + 1);

  EXPECT_FALSE(open().content().has_value());
}

TEST_F(Journal, AnythingButARegularFileIsRefused) {
  std::filesystem::create_symlink("/dev/null", directory() + "/journal");

  EXPECT_FALSE(JournalFile::open(directory()).has_value());
}

TEST_F(Journal, AMissingDirectoryIsNamed) {
  const auto journal = JournalFile::open(directory() + "/no/such");

  ASSERT_FALSE(journal.has_value());
  EXPECT_NE(journal.error().what.find("/no/such"), std::string::npos);
}

TEST_F(Journal, ASharedFileIsNeverReplaced) {
  JournalFile agents = open();
  append(agents, "c1");
  JournalFile guardians = open();
  guardians.share();

  ASSERT_FALSE(guardians.compact({}).has_value());
  append(agents, "c2");

  EXPECT_EQ(*open().content(), encode(throttle("c1")) + encode(throttle("c2")));
}

// Row 31.
TEST_F(Journal, ASecondAgentIsRefusedWhileTheFirstRuns) {
  const std::string state = directory() + "/state/of/agent";
  {
    const auto first = StateLock::take(state);
    ASSERT_TRUE(first.has_value());

    const auto second = StateLock::take(state);

    ASSERT_FALSE(second.has_value());
    EXPECT_EQ(second.error().why, StateLock::Failure::held);
    EXPECT_NE(second.error().problem.what.find(std::to_string(::getpid())), std::string::npos);
  }
  EXPECT_TRUE(StateLock::take(state).has_value());
}

TEST_F(Journal, TheStateDirectoryIsForItsOwnerOnly) {
  const std::string state = directory() + "/state";
  ASSERT_TRUE(StateLock::take(state).has_value());

  EXPECT_EQ(std::filesystem::status(state).permissions(), std::filesystem::perms::owner_all);
}

// Row 30.
TEST_F(Journal, TheBootIsNamedByTheKernel) {
  tree.put("/proc/sys/kernel/random/boot_id", "b5e2\n");

  EXPECT_EQ(boot_id(tree.root()), "b5e2");
  EXPECT_EQ(boot_id(tree.root() + "/none"), "");
}

}  // namespace
}  // namespace sluice::node_agent
