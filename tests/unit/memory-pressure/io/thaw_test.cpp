#include "memory-pressure/io/thaw.h"

#include "common/loop/manual_loop.h"
#include "tests/unit/memory-pressure/io/fixture_tree.h"

#include <gtest/gtest.h>

#include "memory-pressure/core/recovery.h"
#include "memory-pressure/io/journal_file.h"
#include <optional>
#include <string>
#include <vector>

namespace sluice::node_agent {
namespace {

using testing::FixtureTree;
using testing::Hierarchy;

class Thawing : public ::testing::Test {
 protected:
  Thawing() { log.set_least(log::Severity::error); }

  void freeze(const std::string& id) {
    tree.put(tree.freezer_file("/pods/" + id), "FROZEN");
    records.push_back({.kind = RecordKind::frozen,
                       .boot_id = "boot-1",
                       .at = loop.now() + std::chrono::milliseconds{records.size()},
                       .id = id,
                       .cgroup = "/pods/" + id});
  }

  void start() {
    ASSERT_FALSE(journal.append(records).has_value());
    thaw.start(recover(*journal.content(), "boot-1", {}).frozen, [this] { done = true; });
  }

  [[nodiscard]] std::string state(const std::string& id) const {
    return tree.get(tree.freezer_file("/pods/" + id));
  }

  [[nodiscard]] std::size_t listed() const {
    return recover(*journal.content(), "boot-1", {}).frozen.size();
  }

  FixtureTree tree{Hierarchy::v1};
  ManualTime time;
  ManualLoop loop{time};
  log::Logger log{"node-agent"};
  JournalFile journal{*JournalFile::open(tree.root())};
  bool tight = false;
  bool done = false;
  std::vector<JournalRecord> records;
  Thaw thaw{{.loop = loop,
             .journal = journal,
             .log = log,
             .freezer = Freezer{find_cgroup_mounts(tree.root()).freezer},
             .is_tight = [this] { return tight; }}};
};

TEST_F(Thawing, WithRoomAllRunOnAtOnce) {
  for (const char* id : {"a", "b", "c"}) freeze(id);

  start();

  EXPECT_TRUE(done);
  for (const char* id : {"a", "b", "c"}) EXPECT_EQ(state(id), "THAWED");
  EXPECT_EQ(listed(), 0U);
}

TEST_F(Thawing, OnATightNodeTheOldestRunOnFirstASecondApart) {
  tight = true;
  for (const char* id : {"z", "b", "c"}) freeze(id);

  start();
  EXPECT_EQ(state("z"), "THAWED");
  EXPECT_EQ(state("b"), "FROZEN");
  time.run_for(Thaw::kApart);
  EXPECT_EQ(state("b"), "THAWED");
  EXPECT_EQ(state("c"), "FROZEN");
  EXPECT_FALSE(done);
  EXPECT_EQ(listed(), 1U) << "each is written down when it runs on";
  time.run_for(Thaw::kApart);

  EXPECT_EQ(state("c"), "THAWED");
  EXPECT_TRUE(done);
}

TEST_F(Thawing, OnceThereIsRoomTheRestWaitNoLonger) {
  tight = true;
  for (const char* id : {"a", "b", "c", "d"}) freeze(id);
  start();

  tight = false;
  time.run_for(Thaw::kApart);

  EXPECT_TRUE(done);
  EXPECT_EQ(state("d"), "THAWED");
}

TEST_F(Thawing, OneThatIsGoneIsStruckFromTheJournal) {
  freeze("a");
  freeze("b");
  tree.remove("/sys/fs/cgroup/freezer/pods/a");

  start();

  EXPECT_TRUE(done);
  EXPECT_EQ(state("b"), "THAWED");
  EXPECT_EQ(listed(), 0U);
}

TEST_F(Thawing, OneThatTheKernelRefusesStaysListed) {
  log.set_least(log::Severity::error);
  records.push_back({.kind = RecordKind::frozen,
                     .boot_id = "boot-1",
                     .at = loop.now(),
                     .id = "top",
                     .cgroup = "/"});
  freeze("b");

  start();

  EXPECT_TRUE(done);
  EXPECT_EQ(state("b"), "THAWED");
  EXPECT_EQ(listed(), 1U);
}

}  // namespace
}  // namespace sluice::node_agent
