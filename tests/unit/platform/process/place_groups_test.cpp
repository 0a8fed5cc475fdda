// Goal: what a group of the machine may have together is the kernel's to keep, where it can.
// Method: plain files stand in for a version 2 tree; the machine's own tree, where it has one.

#include "platform/process/place_groups.h"

#include "tests/unit/platform/process/eventually.h"
#include "tests/unit/platform/process/temporary_directory.h"

#include <gtest/gtest.h>

#include "platform/process/child.h"
#include "platform/process/cores.h"
#include <csignal>
#include <fstream>
#include <initializer_list>
#include <sstream>
#include <sys/wait.h>

namespace sluice::local {
namespace {

std::string text_of(const std::filesystem::path& file) {
  std::stringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

/// A version 2 tree with these controllers.
class FakeTree {
 public:
  explicit FakeTree(const std::string& controllers) {
    std::ofstream(root() / "cgroup.subtree_control") << controllers << "\n";
  }

  /// The kernel's files are in its directory as soon as a group is made.
  void has(const std::string& group, std::initializer_list<const char*> files) const {
    std::filesystem::create_directories(root() / group);
    for (const char* file : files) std::ofstream(root() / group / file);
  }

  [[nodiscard]] std::string at(const std::string& file) const { return text_of(root() / file); }

  [[nodiscard]] const std::filesystem::path& root() const { return directory_.path(); }

  [[nodiscard]] CgroupTree tree() const { return {CgroupKind::v2, root(), root()}; }

 private:
  TemporaryDirectory directory_;
};

MachineGroup group(const std::string& name, std::optional<std::int64_t> cpu,
                   std::optional<std::int64_t> memory) {
  return {.name = name, .cpu = cpu, .memory = memory};
}

TEST(PlaceGroups, AGroupWithLimitsIsAboveThoseOfItsReplicas) {
  const FakeTree fake("cpu memory");
  fake.has("place.fast", {"cpu.max", "memory.max", "cgroup.subtree_control"});
  fake.has("place.fast/app-00001-1", {"cpu.max", "memory.max"});
  const CgroupTree machine = fake.tree();
  PlaceGroups places(machine);

  const std::vector<MachineGroup> groups{group("fast", 1500, 1 << 30), group("slow", {}, {})};
  EXPECT_TRUE(places.make(groups).empty());

  EXPECT_EQ(fake.at("place.fast/cpu.max"), "150000 100000");
  EXPECT_EQ(fake.at("place.fast/memory.max"), "1073741824");
  EXPECT_EQ(fake.at("place.fast/cgroup.subtree_control"), "+cpu +memory");
  EXPECT_TRUE(places.is_limited("fast"));
  const auto directories = places.tree_of("fast").create("app-00001-1", {});
  ASSERT_TRUE(directories) << directories.error().text();
  EXPECT_EQ(directories->front(), fake.root() / "place.fast/app-00001-1");
  EXPECT_FALSE(places.is_limited("slow"));
  EXPECT_EQ(&places.tree_of("slow"), &machine);
  EXPECT_EQ(&places.tree_of(""), &machine);
}

TEST(PlaceGroups, WithoutATreeLimitsAreOnlyAccountedAndSaidOnce) {
  const CgroupTree nothing;
  PlaceGroups places(nothing);

  const std::vector<MachineGroup> groups{group("a", 1000, 1 << 30), group("b", 1000, 1 << 30),
                                         group("c", {}, {})};
  const auto problems = places.make(groups);

  ASSERT_EQ(problems.size(), 1U);
  EXPECT_EQ(problems[0].text(),
            "groups a, b: cpu and memory are only accounted, for no writable cgroup limits that; "
            "see `sluice doctor`");
  EXPECT_FALSE(places.is_limited("a"));
}

TEST(PlaceGroups, WhatOneControllerCannotLimitIsAccountedAndTheRestLimited) {
  const FakeTree fake("cpu");
  fake.has("place.a", {"cpu.max", "cgroup.subtree_control"});
  const CgroupTree machine = fake.tree();
  PlaceGroups places(machine);

  const std::vector<MachineGroup> groups{group("a", 500, 1 << 30)};
  const auto problems = places.make(groups);

  ASSERT_EQ(problems.size(), 1U);
  EXPECT_EQ(problems[0].what,
            "group a: memory is only accounted, for no writable cgroup limits that");
  EXPECT_EQ(fake.at("place.a/cpu.max"), "50000 100000");
  EXPECT_TRUE(places.is_limited("a"));
}

TEST(PlaceGroups, OneThatCannotBeMadeLeavesTheOthersTheirLimits) {
  const FakeTree fake("cpu memory");
  std::ofstream(fake.root() / "place.bad") << "a file where the group should be";
  fake.has("place.good", {"memory.max", "cgroup.subtree_control"});
  const CgroupTree machine = fake.tree();
  PlaceGroups places(machine);

  const std::vector<MachineGroup> groups{group("bad", {}, 1 << 30), group("good", {}, 1 << 30)};
  const auto problems = places.make(groups);

  ASSERT_EQ(problems.size(), 1U);
  EXPECT_TRUE(problems[0].what.starts_with("group bad: memory is only accounted, cannot set up"))
      << problems[0].what;
  EXPECT_FALSE(places.is_limited("bad"));
  EXPECT_TRUE(places.is_limited("good"));
}

// Goal: on the machine's own tree a process of a replica is in the group of its place, what an
// earlier engine left of one goes, and all go with the engine.
TEST(PlaceGroups, HoldReplicasWhereTheMachineAllows) {
  const CgroupTree machine = CgroupTree::detect("sluice-unit-test-places", "/run/sluice");
  const std::vector<MachineGroup> before{group("fast", {}, 64 << 20)};
  PlaceGroups killed(machine);
  ASSERT_EQ(killed.make(before).empty(), machine.can_limit_memory());
  if (!machine.can_limit_memory() || !machine.can_limit_cpu()) return;
  ASSERT_TRUE(killed.tree_of("fast").create("app-00001-1", {}));
  const std::vector<MachineGroup> groups{group("fast", 1000, {})};
  PlaceGroups places(machine);
  const auto problems = places.make(groups);
  ASSERT_TRUE(problems.empty()) << problems.front().text();
  const CgroupTree& tree = places.tree_of("fast");
  const auto place = tree.memory_directory("app-00001-1").parent_path();
  EXPECT_FALSE(std::filesystem::exists(place / "app-00001-1")) << "it was left behind";

  const auto directories = tree.create("app-00001-2", {.cpu = 0.5, .memory = {}});
  ASSERT_TRUE(directories) << directories.error().text();
  SpawnSpec spec;
  spec.program = SLUICE_TEST_ACTOR;
  spec.argv = {"actor", "wait"};
  spec.cgroup_dirs = *directories;
  const auto child = spawn(spec);
  ASSERT_TRUE(child) << child.error().text();
  EXPECT_EQ(text_of(place / "app-00001-2" / "cgroup.procs"), std::to_string(child->pid) + "\n");
  EXPECT_GT(tree.memory_bytes("app-00001-2").value_or(0), 0);

  kill_group(child->pid, SIGKILL);
  ::waitpid(child->pid, nullptr, 0);
  EXPECT_TRUE(eventually([&] {
    machine.clear();
    return !std::filesystem::exists(place);
  }));
}

TEST(Cores, AreReadAndWrittenAsRanges) {
  const auto cores = parse_cores("4,0-1,0");

  ASSERT_TRUE(cores) << cores.error().text();
  EXPECT_EQ(*cores, (std::vector<int>{0, 1, 4}));
  EXPECT_EQ(format_cores(*cores), "0-1,4");
  EXPECT_EQ(format_cores({}), "");
}

}  // namespace
}  // namespace sluice::local
