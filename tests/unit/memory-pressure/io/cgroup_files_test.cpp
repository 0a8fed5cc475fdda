#include "memory-pressure/io/cgroup_files.h"

#include "tests/unit/memory-pressure/io/fixture_tree.h"

#include <gtest/gtest.h>

namespace sluice::node_agent {
namespace {

using testing::FixtureTree;
using testing::Hierarchy;
using testing::kMiB;

constexpr const char* kGroup = "/kubepods/pod1/c1";

class ContainerGroup : public ::testing::TestWithParam<Hierarchy> {
 protected:
  ContainerGroup() {
    tree.set_memory(kGroup, {.used_mib = 50, .cold_mib = 10, .limit_mib = 64});
    tree.set_quota(kGroup, 30'000, 100'000);
    tree.set_quota("/kubepods/pod1", -1, 100'000);
    tree.set_process(4711, kGroup);
  }

  CgroupFiles files() const {
    const CgroupMounts mounts = find_cgroup_mounts(tree.root());
    const auto paths = cgroup_paths(4711, mounts, tree.root());
    EXPECT_TRUE(paths.has_value());
    return {*paths, mounts};
  }

  FixtureTree tree{GetParam()};
};

INSTANTIATE_TEST_SUITE_P(Mounts, ContainerGroup,
                         ::testing::Values(Hierarchy::v1, Hierarchy::v2, Hierarchy::hybrid));

TEST_P(ContainerGroup, IsFoundByTheProcess) {
  CgroupFiles group = files();

  EXPECT_EQ(group.working_set(), 40 * kMiB);
  EXPECT_EQ(group.memory_limit(), 64 * kMiB);
  EXPECT_EQ(group.quota(), (CpuQuota{30'000, 100'000}));
}

TEST_P(ContainerGroup, NoQuotaIsMinusOne) {
  tree.set_quota(kGroup, -1, 100'000);

  EXPECT_EQ(files().quota(), (CpuQuota{-1, 100'000}));
}

// Row 40.
TEST_P(ContainerGroup, NoLimitIsZero) {
  tree.set_memory(kGroup, {.used_mib = 50, .cold_mib = 10});

  EXPECT_EQ(files().memory_limit(), 0);
}

// Row 41.
TEST_P(ContainerGroup, AChangedLimitIsSeen) {
  CgroupFiles group = files();
  EXPECT_EQ(group.memory_limit(), 64 * kMiB);

  tree.set_memory(kGroup, {.used_mib = 50, .cold_mib = 10, .limit_mib = 128});

  EXPECT_EQ(group.memory_limit(), 128 * kMiB);
}

// Row 20 rests on it.
TEST_P(ContainerGroup, ThePodsQuotaIsConvertedToTheContainersPeriod) {
  CgroupFiles group = files();
  EXPECT_EQ(group.parent_quota(100'000), -1);

  tree.set_quota("/kubepods/pod1", 20'000, 50'000);

  EXPECT_EQ(group.parent_quota(100'000), 40'000);
}

TEST_P(ContainerGroup, AQuotaIsWrittenWholeInTheKernelsOwnForm) {
  CgroupFiles group = files();

  EXPECT_TRUE(group.set_quota({1000, 1'000'000}));
  EXPECT_EQ(group.quota(), (CpuQuota{1000, 1'000'000}));

  EXPECT_TRUE(group.set_quota({-1, 100'000}));
  EXPECT_EQ(group.quota(), (CpuQuota{-1, 100'000}));
}

TEST_P(ContainerGroup, AQuotaOfAGroupThatIsGoneIsNotWritten) {
  CgroupFiles group = files();
  tree.remove(tree.cpu_directory(kGroup));

  EXPECT_FALSE(group.set_quota({1000, 1'000'000}));
}

TEST_P(ContainerGroup, ItsProcessesAreCountedAndNoneIsNotUnknown) {
  const CgroupFiles group = files();
  EXPECT_FALSE(group.processes().has_value());

  tree.set_processes(kGroup, "41\n42\n");
  EXPECT_EQ(group.processes(), 2U);

  tree.set_processes(kGroup, "");
  EXPECT_EQ(group.processes(), 0U);

  tree.remove(tree.memory_directory(kGroup));
  EXPECT_EQ(group.processes(), 0U);
}

TEST_P(ContainerGroup, ProcessesInGroupsBelowAreNotCountedAsNone) {
  tree.set_processes(kGroup, "");
  tree.set_processes(std::string{kGroup} + "/inner", "41\n");

  EXPECT_FALSE(files().processes().has_value());
}

TEST_P(ContainerGroup, AHighMarkIsSetInV2OnlyAndLiftedWhereItIsOurs) {
  const std::string file = tree.memory_directory(kGroup) + "/memory.high";
  tree.put(file, "max\n");
  CgroupFiles group = files();

  group.set_high(41 * kMiB);
  const std::string set = tree.get(file);
  group.set_high(0);

  const bool v2 = GetParam() == Hierarchy::v2;
  EXPECT_EQ(set == "max\n", !v2) << set;
  EXPECT_TRUE(tree.get(file).starts_with("max"));
}

TEST_P(ContainerGroup, AHighMarkOfAnotherIsLeftAlone) {
  const std::string file = tree.memory_directory(kGroup) + "/memory.high";
  tree.put(file, "50000000\n");
  CgroupFiles group = files();

  group.set_high(41 * kMiB);
  group.set_high(0);

  EXPECT_EQ(tree.get(file), "50000000\n");
}

TEST_P(ContainerGroup, AGroupThatIsGoneReadsAsUnknown) {
  CgroupFiles group = files();
  tree.remove(tree.memory_directory(kGroup));
  tree.remove(tree.cpu_directory(kGroup));
  CgroupFiles again = files();

  EXPECT_FALSE(again.working_set().has_value());
  EXPECT_FALSE(again.quota().has_value());
}

TEST(CgroupPaths, AMissingProcessHasNone) {
  const FixtureTree tree{Hierarchy::v1};

  EXPECT_FALSE(cgroup_paths(1, find_cgroup_mounts(tree.root()), tree.root()).has_value());
  EXPECT_FALSE(cgroup_paths(0, find_cgroup_mounts(tree.root()), tree.root()).has_value());
}

TEST(CpuMax, IsReadInBothForms) {
  EXPECT_EQ(parse_cpu_max("max 100000\n"), (CpuQuota{-1, 100'000}));
  EXPECT_EQ(parse_cpu_max("2503 100000\n"), (CpuQuota{2503, 100'000}));
  EXPECT_FALSE(parse_cpu_max("2503").has_value());
  EXPECT_FALSE(parse_cpu_max("").has_value());
}

TEST(KernelNumbers, AreFoundBehindTheirKeyAtALinesStart) {
  constexpr const char* kText = "inactive_file 7\ntotal_inactive_file 8\nMemTotal:   9 kB\n";

  EXPECT_EQ(number_after(kText, "inactive_file"), 7);
  EXPECT_EQ(number_after(kText, "total_inactive_file"), 8);
  EXPECT_EQ(number_after(kText, "MemTotal"), 9);
  EXPECT_FALSE(number_after(kText, "total").has_value());
}

}  // namespace
}  // namespace sluice::node_agent
