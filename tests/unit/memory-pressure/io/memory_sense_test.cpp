#include "memory-pressure/io/memory_sense.h"

#include "tests/unit/memory-pressure/io/fixture_tree.h"

#include <gtest/gtest.h>

namespace sluice::node_agent {
namespace {

using testing::FixtureTree;
using testing::Hierarchy;
using testing::kMiB;

constexpr const char* kPressure =
    "some avg10=12.50 avg60=3.00 avg300=0.10 total=1\nfull avg10=4.25 avg60=0.00 avg300=0.00 "
    "total=0\n";

MemorySense opened(const FixtureTree& tree, const std::string& source) {
  auto sense = MemorySense::open(source, tree.root());
  EXPECT_TRUE(sense.has_value()) << (sense ? "" : sense.error().text());
  return std::move(*sense);
}

class EveryHierarchy : public ::testing::TestWithParam<Hierarchy> {};

INSTANTIATE_TEST_SUITE_P(Mounts, EveryHierarchy,
                         ::testing::Values(Hierarchy::v1, Hierarchy::v2, Hierarchy::hybrid));

// Row 58.
TEST_P(EveryHierarchy, AGroupIsReadAsTheNode) {
  FixtureTree tree{GetParam()};
  tree.set_memory("/lab/n1", {.used_mib = 300, .cold_mib = 60, .limit_mib = 512});
  MemorySense sense = opened(tree, "cgroup:/lab/n1");

  const auto memory = sense.read();

  ASSERT_TRUE(memory.has_value());
  EXPECT_EQ(memory->capacity, 512 * kMiB);
  EXPECT_EQ(memory->used, 240 * kMiB);
}

TEST_P(EveryHierarchy, AGroupIsAlsoFoundByItsDirectory) {
  FixtureTree tree{GetParam()};
  tree.set_memory("/lab/n1", {.used_mib = 300, .cold_mib = 0, .limit_mib = 512});
  MemorySense sense = opened(tree, "cgroup:" + tree.memory_directory("/lab/n1"));

  EXPECT_EQ(sense.read()->used, 300 * kMiB);
}

// Row 64.
TEST_P(EveryHierarchy, SwapCountsAsUse) {
  FixtureTree tree{GetParam()};
  tree.set_memory("/n", {.used_mib = 100, .cold_mib = 0, .limit_mib = 512, .swap_mib = 30});
  MemorySense sense = opened(tree, "cgroup:/n");

  EXPECT_EQ(sense.read()->used, 130 * kMiB);
}

TEST_P(EveryHierarchy, AGroupWithoutLimitHasTheMachinesCapacity) {
  FixtureTree tree{GetParam()};
  tree.set_memory("/n", {.used_mib = 100, .cold_mib = 0});
  MemorySense sense = opened(tree, "cgroup:/n");

  EXPECT_EQ(sense.read()->capacity, 1024 * kMiB);
}

TEST_P(EveryHierarchy, AMissingGroupIsNamed) {
  FixtureTree tree{GetParam()};

  const auto sense = MemorySense::open("cgroup:/nowhere", tree.root());

  ASSERT_FALSE(sense.has_value());
  EXPECT_NE(sense.error().what.find("/nowhere"), std::string::npos);
}

TEST(MemorySense, TheMachineIsReadFromProc) {
  FixtureTree tree{Hierarchy::v1};
  tree.set_meminfo(1000, 400);
  MemorySense sense = opened(tree, "proc");

  EXPECT_EQ(sense.read()->capacity, 1000 * kMiB);
  EXPECT_EQ(sense.read()->used, 600 * kMiB);
}

TEST(MemorySense, SwapOfTheMachineCountsAsUse) {
  FixtureTree tree{Hierarchy::v1};
  tree.set_meminfo(1000, 400, 50);
  MemorySense sense = opened(tree, "proc");

  EXPECT_EQ(sense.read()->used, 650 * kMiB);
}

// Row 38: the kernel counts reclaimable cache as available.
TEST(MemorySense, PageCacheIsNotCountedAsUse) {
  FixtureTree tree{Hierarchy::v2};
  tree.set_memory("/n", {.used_mib = 450, .cold_mib = 400, .limit_mib = 512});
  MemorySense sense = opened(tree, "cgroup:/n");

  EXPECT_EQ(sense.read()->used, 50 * kMiB);
}

// Row 57.
TEST(MemorySense, CapacityIsReadAgainEachTime) {
  FixtureTree tree{Hierarchy::v1};
  MemorySense sense = opened(tree, "proc");
  EXPECT_EQ(sense.read()->capacity, 1024 * kMiB);

  tree.set_meminfo(2048, 100);

  EXPECT_EQ(sense.read()->capacity, 2048 * kMiB);
}

TEST(MemorySense, TheTighterOfMachineAndPodsGroupBounds) {
  FixtureTree tree{Hierarchy::v1};
  tree.set_meminfo(1000, 900);
  tree.set_memory("/kubepods", {.used_mib = 450, .cold_mib = 0, .limit_mib = 500});
  MemorySense sense = opened(tree, "proc");
  EXPECT_EQ(sense.read()->capacity, 500 * kMiB);

  tree.set_meminfo(1000, 20);

  EXPECT_EQ(sense.read()->capacity, 1000 * kMiB);
}

// Row 69.
TEST(MemorySense, UnreadableValuesAreAbsent) {
  FixtureTree tree{Hierarchy::v1};
  MemorySense sense = opened(tree, "proc");

  tree.put("/proc/meminfo", "MemTotal:  12 kB\n");

  EXPECT_FALSE(sense.read().has_value());
}

TEST(MemorySense, StallsOfTheMachineAreRead) {
  FixtureTree tree{Hierarchy::v1};
  tree.put("/proc/pressure/memory", kPressure);
  MemorySense sense = opened(tree, "proc");

  const auto memory = sense.read();

  ASSERT_TRUE(memory->stall.has_value());
  EXPECT_DOUBLE_EQ(memory->stall->some_avg10, 12.5);
  EXPECT_DOUBLE_EQ(memory->stall->full_avg10, 4.25);
  EXPECT_FALSE(sense.stall_path().empty());
}

// Row 59.
TEST(MemorySense, AKernelWithoutStallsIsNotAFailure) {
  FixtureTree tree{Hierarchy::v1};
  MemorySense sense = opened(tree, "proc");

  EXPECT_TRUE(sense.read().has_value());
  EXPECT_FALSE(sense.read()->stall.has_value());
  EXPECT_TRUE(sense.stall_path().empty());
}

// Row 58: the v2 hierarchy reports stalls of a group although v1 accounts its memory.
TEST(MemorySense, StallsOfAGroupComeFromTheUnifiedHierarchy) {
  FixtureTree tree{Hierarchy::hybrid};
  tree.set_memory("/n", {.used_mib = 1, .cold_mib = 0, .limit_mib = 512});
  tree.put("/sys/fs/cgroup/unified/n/memory.pressure", kPressure);
  MemorySense sense = opened(tree, "cgroup:/n");

  ASSERT_TRUE(sense.read()->stall.has_value());
  EXPECT_DOUBLE_EQ(sense.read()->stall->some_avg10, 12.5);
}

TEST(MemorySense, AnUnknownSourceIsRefused) {
  const auto sense = MemorySense::open("smem");

  ASSERT_FALSE(sense.has_value());
  EXPECT_NE(sense.error().text().find("proc or cgroup:PATH"), std::string::npos);
}

TEST(CgroupMounts, TheKindIsReadFromTheMounts) {
  EXPECT_EQ(find_cgroup_mounts(FixtureTree{Hierarchy::v1}.root()).kind(), "v1");
  EXPECT_EQ(find_cgroup_mounts(FixtureTree{Hierarchy::v2}.root()).kind(), "v2");
  EXPECT_EQ(find_cgroup_mounts(FixtureTree{Hierarchy::hybrid}.root()).kind(), "hybrid");
  EXPECT_EQ(find_cgroup_mounts("/nowhere").kind(), "none");
}

TEST(CgroupMounts, AMountThatShowsAPartOfTheHierarchyIsFollowed) {
  const CgroupMount mount{.point = "/mnt", .top = "/docker/1"};

  EXPECT_EQ(mount.directory("/docker/1"), "/mnt");
  EXPECT_EQ(mount.directory("/docker/1/a/b"), "/mnt/a/b");
  EXPECT_EQ(mount.directory("/docker/12"), "");
}

}  // namespace
}  // namespace sluice::node_agent
