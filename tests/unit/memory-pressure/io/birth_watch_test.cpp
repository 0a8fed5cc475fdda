#include "memory-pressure/io/birth_watch.h"

#include "tests/unit/common/rpc/rpc_stage.h"
#include "tests/unit/memory-pressure/io/fixture_tree.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace sluice::node_agent {
namespace {

using rpc::testing::run_until;
using testing::FixtureTree;
using testing::Hierarchy;

// As long as the ids of the runtimes.
std::string id_of(int number) {
  const std::string digits = std::to_string(number);
  return std::string(64 - digits.size(), 'c') + digits;
}

class Births : public ::testing::TestWithParam<Hierarchy> {
 protected:
  Births() { log.set_least(log::Severity::error); }

  void start(const BirthWatch::Expected& expected) {
    expected_ = expected;
    start();
  }

  void start(BirthWatch::Options options = {}) {
    options.root = tree.root();
    std::filesystem::create_directories(directory("/"));
    watch = std::make_unique<BirthWatch>(io, clock, log, find_cgroup_mounts(tree.root()).memory,
                                         options);
    watch->on_expected(expected_);
    ASSERT_TRUE(watch->start([this](const std::vector<Birth>& births) {
      ++rounds;
      for (const Birth& each : births) born.push_back(each.id);
      last = births.back();
    }));
  }

  [[nodiscard]] std::string directory(const std::string& group) const {
    return tree.root() + tree.memory_directory(group);
  }

  void make(const std::string& group) const {
    std::filesystem::create_directories(directory(group));
    put_processes(group, "");
  }

  void put_processes(const std::string& group, const std::string& pids) const {
    tree.set_processes(group, pids);
  }

  void name(int pid, const std::string& comm) const {
    tree.put("/proc/" + std::to_string(pid) + "/comm", comm + "\n");
  }

  // The kernel answers who has it open with an error.
  void end_process(int pid) const { tree.put("/proc/" + std::to_string(pid) + "/comm", ""); }

  // A group with a process of the runtime in it.
  void begin(const std::string& group, int pid) const {
    make(group);
    name(pid, "runc:[2:INIT]");
    put_processes(group, std::to_string(pid) + "\n");
  }

  bool until(const std::function<bool()>& done) { return run_until(io, done); }

  bool until_born(std::size_t count) {
    return until([&] { return born.size() >= count; });
  }

  BirthWatch::Expected expected_;
  FixtureTree tree{GetParam()};
  boost::asio::io_context io{1};
  Clock clock;
  log::Logger log{"node-agent"};
  std::unique_ptr<BirthWatch> watch;
  std::vector<std::string> born;
  Birth last;
  int rounds = 0;
};

TEST_P(Births, AContainerIsBornWhenItsProcessIsTheRuntimesNoLonger) {
  make("/kubepods/besteffort/pod1");
  start();
  const std::string group = "/kubepods/besteffort/pod1/" + id_of(1);
  begin(group, 41);
  ASSERT_TRUE(until([&] { return watch->counts().embryos == 1; }));
  EXPECT_TRUE(born.empty());

  name(41, "job");

  ASSERT_TRUE(until_born(1));
  EXPECT_EQ(last.id, id_of(1));
  EXPECT_EQ(last.pid, 41);
  EXPECT_EQ(last.group, group);
  EXPECT_EQ(watch->counts().embryos, 0U);
}

TEST_P(Births, AContainerIsExpectedFromItsGroupOnUnlessItWasThereBefore) {
  make("/kubepods/pod1/" + id_of(1));
  std::vector<std::string> expected;
  start([&](const std::string& id) { expected.push_back(id); });

  begin("/kubepods/pod1/" + id_of(2), 42);

  ASSERT_TRUE(until([&] { return watch->counts().embryos == 2; }));
  EXPECT_EQ(expected, std::vector<std::string>{id_of(2)});
  EXPECT_TRUE(born.empty());
}

TEST_P(Births, TheRuntimesChainOfProcessesIsFollowedToTheProgram) {
  start();
  const std::string group = "/kubepods/pod1/" + id_of(1);
  begin(group, 41);
  name(41, "runc");
  ASSERT_TRUE(until([&] { return watch->counts().embryos == 1; }));
  end_process(41);
  name(43, "runc:[2:INIT]");
  put_processes(group, "42\n43\n");
  name(43, "job");

  ASSERT_TRUE(until_born(1));

  EXPECT_EQ(last.pid, 43);
}

TEST_P(Births, AProcessThatEndsBeforeItsProgramIsNoBirth) {
  start();
  const std::string group = "/kubepods/pod1/" + id_of(1);
  begin(group, 41);
  begin("/kubepods/pod1/" + id_of(2), 42);
  ASSERT_TRUE(until([&] { return watch->counts().embryos == 2; }));
  name(42, "job");
  ASSERT_TRUE(until_born(1)) << "so the other was looked at";

  end_process(41);
  put_processes(group, "");

  EXPECT_TRUE(until([&] { return watch->counts().embryos == 0; }));
  EXPECT_EQ(born.size(), 1U);
}

TEST_P(Births, AGroupThatIsRemovedIsWatchedNoLonger) {
  start();
  begin("/kubepods/pod1/" + id_of(1), 41);
  ASSERT_TRUE(until([&] { return watch->counts().embryos == 1; }));

  std::filesystem::remove_all(directory("/kubepods"));

  EXPECT_TRUE(until([&] { return watch->counts().embryos == 0 && watch->counts().groups == 1; }));
  EXPECT_TRUE(born.empty());
}

TEST_P(Births, GroupsThatAreMadeFasterThanTheyAreWatchedAreFoundByLooking) {
  start();

  for (int pod = 0; pod < 40; ++pod) {
    const std::string group = "/kubepods/burstable/pod" + std::to_string(pod) + "/" + id_of(pod);
    begin(group, 100 + pod);
    name(100 + pod, "job");
  }

  EXPECT_TRUE(until_born(40));
}

TEST_P(Births, TwelveOfOneLookAreReportedTogether) {
  make("/kubepods/pod1");
  start();
  for (int each = 0; each < 12; ++each) {
    begin("/kubepods/pod1/" + id_of(each), 100 + each);
    name(100 + each, "job");
  }

  ASSERT_TRUE(until_born(12));

  EXPECT_LE(rounds, 2);
}

TEST_P(Births, AContainerThatRanBeforeIsNoBirth) {
  begin("/kubepods/pod1/" + id_of(1), 41);
  name(41, "job");
  begin("/kubepods/pod1/" + id_of(2), 42);
  start();
  ASSERT_TRUE(until([&] { return watch->counts().embryos == 1; }));

  name(42, "job");

  ASSERT_TRUE(until_born(1));
  EXPECT_EQ(born, std::vector<std::string>{id_of(2)});
  EXPECT_LE(last.after, last.seen);
}

TEST_P(Births, NamesOfSystemdsDriverAreKnown) {
  start();
  begin("/kubepods.slice/kubepods-pod1.slice/cri-containerd-" + id_of(1) + ".scope", 41);
  name(41, "job");

  ASSERT_TRUE(until_born(1));

  EXPECT_EQ(last.id, id_of(1));
}

TEST_P(Births, OtherGroupsAreWatchedOnlyWhenCovered) {
  make("/batch/inner");
  make("/system.slice");
  start();
  EXPECT_EQ(watch->counts().groups, 1U);

  watch->cover("/batch");
  EXPECT_EQ(watch->counts().groups, 3U);
  begin("/batch/inner/" + id_of(1), 41);
  name(41, "job");

  EXPECT_TRUE(until_born(1));
}

TEST_P(Births, AContainersSiblingsAreCoveredOrAllOfItsKubelets) {
  make("/lab/n1/" + id_of(1));
  make("/kubelet.slice/kubelet-kubepods.slice/pod1/" + id_of(2));
  make("/kubelet.slice/kubelet-kubepods.slice/pod2");
  start();

  watch->cover_siblings("/lab/n1/" + id_of(1));
  EXPECT_EQ(watch->counts().groups, 2U);
  watch->cover_siblings("/kubelet.slice/kubelet-kubepods.slice/pod1/" + id_of(2));

  EXPECT_EQ(watch->counts().groups, 5U);
}

TEST_P(Births, WhatAContainerMakesInItsOwnGroupIsItsOwnAffair) {
  const std::string group = "/kubepods/pod1/" + id_of(1);
  make(group + "/kubepods/pod2");
  start();
  const std::size_t directories = watch->counts().groups;

  begin(group + "/kubepods/pod2/" + id_of(2), 41);
  name(41, "job");
  begin("/kubepods/pod1/" + id_of(3), 42);
  name(42, "job");
  ASSERT_TRUE(until_born(1));

  EXPECT_EQ(born, std::vector<std::string>{id_of(3)});
  EXPECT_EQ(watch->counts().groups, directories);
}

TEST_P(Births, DirectoriesAndEmbryosHaveALimit) {
  start({.directories_max = 2, .embryos_max = 1});
  begin("/kubepods/" + id_of(1), 41);
  begin("/kubepods/" + id_of(2), 42);
  make("/kubepods/pod1");

  ASSERT_TRUE(until([&] { return watch->counts().embryos == 1 && watch->counts().groups == 2; }));
  name(41, "job");
  name(42, "job");

  EXPECT_TRUE(until_born(1));
  EXPECT_EQ(watch->counts().groups, 2U);
}

TEST_P(Births, AStartReportedByTheRuntimeIsFollowedByItsProcess) {
  start();
  name(41, "runc:[2:INIT]");
  watch->started(id_of(1), 41);
  EXPECT_EQ(watch->counts().embryos, 1U);
  name(42, "job");
  watch->started(id_of(2), 42);
  ASSERT_TRUE(until_born(1));
  EXPECT_EQ(born, std::vector<std::string>{id_of(2)}) << "the other is the runtime's yet";
  EXPECT_EQ(last.pid, 42);
  EXPECT_EQ(last.group, "");
  EXPECT_EQ(last.after, TimePoint{});

  name(41, "job");

  EXPECT_TRUE(until_born(2));
  EXPECT_GT(last.after, TimePoint{});
}

TEST_P(Births, AStartIsOverWithItsProcess) {
  start();
  put_processes("/", "1\n");
  name(1, "init");

  watch->started(id_of(1), 41);

  EXPECT_TRUE(until([&] { return watch->counts().embryos == 0; }));
  EXPECT_TRUE(born.empty());
}

TEST_P(Births, AStartOfAContainerThatTheKernelHasReportedIsNoSecondBirth) {
  start();
  const std::string group = "/kubepods/pod1/" + id_of(1);
  begin(group, 41);
  ASSERT_TRUE(until([&] { return watch->counts().embryos == 1; }));

  watch->started(id_of(1), 41);
  name(41, "job");

  ASSERT_TRUE(until_born(1));
  EXPECT_EQ(last.group, group);
  EXPECT_EQ(watch->counts().embryos, 0U);
}

TEST_P(Births, StartsCountAsEmbryosOnceTheWatchHasStarted) {
  BirthWatch idle{io, clock, log, find_cgroup_mounts(tree.root()).memory, {.root = tree.root()}};
  idle.started(id_of(1), 41);
  EXPECT_EQ(idle.counts().embryos, 0U);
  start({.embryos_max = 1});

  watch->started(id_of(1), 41);
  watch->started(id_of(2), 42);

  EXPECT_EQ(watch->counts().embryos, 1U);
}

TEST_P(Births, WithoutAHierarchyThereIsNothingToWatch) {
  BirthWatch blind{io, clock, log, {}, {}};

  EXPECT_FALSE(blind.start({}));
  blind.cover("/kubepods");
}

INSTANTIATE_TEST_SUITE_P(EachHierarchy, Births, ::testing::Values(Hierarchy::v1, Hierarchy::v2),
                         [](const auto& each) {
                           return each.param == Hierarchy::v1 ? "v1" : "v2";
                         });

// In memory, since it takes as many events as the kernel keeps.
TEST(BirthsOverflow, AnOverflowOfTheKernelsQueueLosesNone) {
  std::string root = "/dev/shm/sluice-births-XXXXXX";
  ASSERT_NE(::mkdtemp(root.data()), nullptr);
  std::filesystem::create_directories(root + "/kubepods/pod1");
  boost::asio::io_context io{1};
  const Clock clock;
  log::Logger log{"node-agent"};
  log.set_least(log::Severity::error);
  BirthWatch watch{io, clock, log, {.point = root}, {.root = root}};
  std::size_t born = 0;
  ASSERT_TRUE(watch.start([&](const std::vector<Birth>& births) { born += births.size(); }));
  std::string most;
  std::ifstream{"/proc/sys/fs/inotify/max_queued_events"} >> most;
  for (int each = 0; each <= std::stoi(most); ++each) {
    std::filesystem::create_directory(root + "/kubepods/x");
    std::filesystem::remove(root + "/kubepods/x");
  }

  std::filesystem::create_directories(root + "/kubepods/pod1/" + id_of(1));
  std::filesystem::create_directories(root + "/proc/41");
  std::ofstream{root + "/kubepods/pod1/" + id_of(1) + "/cgroup.procs"} << "41\n";
  std::ofstream{root + "/proc/41/comm"} << "job\n";

  EXPECT_TRUE(run_until(io, [&] { return born == 1; }));
  std::filesystem::remove_all(root);
}

TEST(BirthNames, AGroupIsAContainersByItsId) {
  const std::string id = id_of(7);
  EXPECT_EQ(container_of_group(id), id);
  EXPECT_EQ(container_of_group("cri-containerd-" + id + ".scope"), id);
  EXPECT_EQ(container_of_group("crio-" + id + ".scope"), id);
  EXPECT_EQ(container_of_group("pod3f1a"), "");
  EXPECT_EQ(container_of_group("kubepods-burstable-pod1.slice"), "");
  EXPECT_EQ(container_of_group(std::string(64, 'x')), "");
  EXPECT_EQ(container_of_group(""), "");
}

TEST(BirthNames, TheRuntimeIsKnownByTheNameOfItsProcess) {
  for (const char* each :
       {"runc", "runc:[0:PARENT]\n", "runc:[2:INIT]", "exe", "6", "crun", "youki:[2:INIT]", ""}) {
    EXPECT_TRUE(is_runtimes(each)) << each;
  }
  for (const char* each : {"hog", "runcible", "java\n", "sh", "7z"}) {
    EXPECT_FALSE(is_runtimes(each)) << each;
  }
}

}  // namespace
}  // namespace sluice::node_agent
