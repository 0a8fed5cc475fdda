// Goal: what the rules decide reaches the kernel's files, and the tenants in the right order.
// Method: a machine and a cgroup tree of plain files; replicas that are this very process.

#include "platform/process/memory_pressure.h"

#include "common/loop/asio_loop.h"
#include "common/loop/manual_loop.h"
#include "tests/unit/platform/process/eventually.h"
#include "tests/unit/platform/process/temporary_directory.h"

#include <boost/asio/io_context.hpp>
#include <gtest/gtest.h>

#include "platform/process/listeners.h"
#include "platform/process/process_groups.h"
#include <array>
#include <csignal>
#include <ctime>
#include <fstream>
#include <sys/wait.h>
#include <unistd.h>

namespace sluice::local {
namespace {

using namespace std::chrono_literals;

class Tenant : public MemoryTenant {
 public:
  explicit Tenant(const std::filesystem::path& quota) : quota_(quota) {}

  [[nodiscard]] const std::string& name() const override { return name_; }

  [[nodiscard]] const ServiceSpec& spec() const override { return spec_; }

  [[nodiscard]] std::vector<TenantReplica> replicas() const override {
    const Clock clock;
    std::vector<TenantReplica> list;
    Duration age = 30s;
    for (const char* id : {"app-00001-1", "app-00001-2"}) {
      list.push_back({.id = id, .pid = ::getpid(), .started = clock.now() - age, .ready = true});
      const bool second = list.size() == 2;
      list.back().busy = !second || !rests;
      list.back().sent = sent;
      list.back().holdable = second;
      list.back().held = second && held_;
      age = 20s;  // the younger one is throttled first
    }
    return list;
  }

  void on_throttled(const std::string& replica, bool throttled, const std::string&) override {
    std::ifstream file{quota_};
    std::string quota;
    file >> quota;
    diary.push_back(replica + (throttled ? " throttled at " : " free at ") + quota);
  }

  bool on_held(const std::string& replica, bool held) override {
    diary.push_back(replica + (held ? " held" : " let go"));
    held_ = held;
    return true;
  }

  bool on_sacrifice(const std::string&, bool, const std::string&) override { return true; }

  void on_room() override { ++asked; }

  std::vector<std::string> diary;
  int asked = 0;
  bool rests = false;  // the second has no request in flight
  std::uint64_t sent = 0;

 private:
  std::filesystem::path quota_;
  bool held_ = false;
  std::string name_ = "app-00001";
  ServiceSpec spec_;
};

class MemoryPressureTest : public testing::Test {
 protected:
  MemoryPressureTest() {
    write(home_.path() / "machine/proc/meminfo", meminfo(30'000));
    write(home_.path() / "machine/proc/self/mountinfo", "");
    write(tree_ / "cgroup.subtree_control", "cpu memory\n");
    for (const char* id : {"app-00001-1", "app-00001-2"}) {
      write(tree_ / id / "cpu.max", "max 100000  \n");
      write(tree_ / id / "cgroup.procs", "");
    }
  }

  static void write(const std::filesystem::path& file, const std::string& text) {
    std::filesystem::create_directories(file.parent_path());
    std::ofstream{file} << text;
  }

  /// A machine of so many kB, 64 MiB, of which so many are available.
  static std::string meminfo(int available, int total = 65'536) {
    return "MemTotal: " + std::to_string(total) +
           " kB\nMemAvailable: " + std::to_string(available) +
           " kB\nSwapTotal: 0 kB\nSwapFree: 0 kB\n";
  }

  std::string source() { return "files:" + (home_.path() / "machine").string(); }

  std::string quota() {
    std::ifstream file{tree_ / "app-00001-2" / "cpu.max"};
    std::string text;
    file >> text;
    return text;
  }

  MemoryPressure& open(const CgroupTree& cgroups) {
    pressure_ = std::make_unique<MemoryPressure>(loop_, log_, cgroups);
    const auto problem = pressure_->open(
        source(),
        [this](const std::string& what, const std::string&) { warnings_.push_back(what); });
    EXPECT_FALSE(problem) << problem->text();
    pressure_->enter(tenant_);
    return *pressure_;
  }

  TemporaryDirectory home_;
  std::filesystem::path tree_ = home_.path() / "tree";
  CgroupTree cgroups_{CgroupKind::v2, tree_, tree_};
  CgroupTree nothing_;
  boost::asio::io_context io_;
  Clock clock_;
  AsioLoop loop_{io_, clock_};
  log::Logger log_{"test", log::Severity::error};
  Tenant tenant_{tree_ / "app-00001-2" / "cpu.max"};
  std::vector<std::string> warnings_;
  std::unique_ptr<MemoryPressure> pressure_;
};

TEST_F(MemoryPressureTest,
       RemovesAReplicaFromRoutingBeforeItIsThrottledAndReturnsItAfterItsRelease) {
  MemoryPressure& pressure = open(cgroups_);
  write(home_.path() / "machine/proc/meminfo", meminfo(1'500));
  pressure.look();
  EXPECT_EQ(tenant_.diary, std::vector<std::string>{"app-00001-2 throttled at max"});
  EXPECT_EQ(quota(), "10003");
  EXPECT_EQ(pressure.counts().throttles, 1U);

  write(home_.path() / "machine/proc/meminfo", meminfo(40'000));

  EXPECT_TRUE(eventually([&] {
    pressure.look();
    return tenant_.diary.size() == 2;
  }));
  EXPECT_EQ(tenant_.diary.back(), "app-00001-2 free at max");
  EXPECT_EQ(quota(), "max");
  EXPECT_EQ(pressure.counts().releases, 1U);
}

// Goal: a replica is not moved out of the group of its place, whose limits it would leave behind.
TEST_F(MemoryPressureTest, ThrottlesAReplicaWithinTheGroupOfItsPlace) {
  const std::filesystem::path place = tree_ / "place.fast";
  write(place / "cgroup.subtree_control", "cpu memory\n");
  write(place / "app-00001-2" / "cpu.max", "max 100000  \n");
  const CgroupTree groups{CgroupKind::v2, place, place};
  for (const auto& group : {tree_ / "app-00001-1", place / "app-00001-2"}) {
    write(group / "memory.current", std::to_string(16 << 20) + "\n");
  }
  MemoryPressure& pressure = open(cgroups_);
  pressure.grouped("app-00001-1", cgroups_);
  pressure.grouped("app-00001-2", groups);
  write(home_.path() / "machine/proc/meminfo", meminfo(1'500));

  pressure.look();

  std::string there;
  std::ifstream{place / "app-00001-2" / "cpu.max"} >> there;
  EXPECT_EQ(there, "10003");
  EXPECT_EQ(quota(), "max");
}

TEST_F(MemoryPressureTest, HoldsAReplicaOnlyASecondAfterItsLastRequest) {
  MemoryPressure& pressure = open(nothing_);
  write(home_.path() / "machine/proc/meminfo", meminfo(5'000));
  for (int i = 0; i < 3; ++i) pressure.look();
  EXPECT_TRUE(tenant_.diary.empty());
  tenant_.rests = true;
  const auto since = clock_.now();

  EXPECT_TRUE(eventually([&] {
    pressure.look();
    return !tenant_.diary.empty();
  }));

  EXPECT_EQ(tenant_.diary, std::vector<std::string>{"app-00001-2 held"});
  EXPECT_GE(clock_.now() - since, MemoryPressure::kRestsAfter);
  EXPECT_EQ(pressure.counts().holds, 1U);
  pressure.used("app-00001-2");
  pressure.look();
  EXPECT_EQ(tenant_.diary.back(), "app-00001-2 let go") << "a request has come";
}

TEST_F(MemoryPressureTest, ARequestBetweenTwoLooksCountsToo) {
  MemoryPressure& pressure = open(nothing_);
  write(home_.path() / "machine/proc/meminfo", meminfo(5'000));
  tenant_.rests = true;
  const auto since = clock_.now();
  while (clock_.now() - since < 2 * MemoryPressure::kRestsAfter) {
    ++tenant_.sent;
    pressure.look();
  }
  EXPECT_TRUE(tenant_.diary.empty());
}

TEST_F(MemoryPressureTest, ReportsOnceThatNoReplicaCanBeThrottled) {
  constexpr int kGibibyte = 1'048'576;  // far more than this process takes
  write(home_.path() / "machine/proc/meminfo", meminfo(800'000, kGibibyte));
  MemoryPressure& pressure = open(nothing_);
  pressure.look();
  EXPECT_TRUE(warnings_.empty());

  for (const int available : {24'000, 800'000, 24'000}) {
    write(home_.path() / "machine/proc/meminfo", meminfo(available, kGibibyte));
    for (int i = 0; i < 3; ++i) pressure.look();
  }

  EXPECT_EQ(warnings_.size(), 1U);
  EXPECT_TRUE(tenant_.diary.empty());
}

TEST_F(MemoryPressureTest, RefusesAStartAndCountsIt) {
  MemoryPressure& pressure = open(cgroups_);
  write(home_.path() / "machine/proc/meminfo", meminfo(1'500));
  pressure.look();

  const GateAnswer answer = pressure.ask(tenant_, "app-00001-3");

  EXPECT_FALSE(answer.granted);
  EXPECT_EQ(pressure.counts().refused_starts, 1U);
  EXPECT_GE(tenant_.asked, 1);
}

TEST_F(MemoryPressureTest, AMissingSourceIsNamed) {
  MemoryPressure pressure{loop_, log_, cgroups_};
  for (const char* source : {"files:/nowhere", "cgroup:/nowhere", "memory"}) {
    const auto problem = pressure.open(source, [](const std::string&, const std::string&) {});
    ASSERT_TRUE(problem) << source;
    EXPECT_NE(problem->what.find("SLUICE_MEMORY_SOURCE=" + std::string{source}), std::string::npos);
  }
}

TEST(ProcessGroups, SumsTheProcessesThatDescendFromTheLeader) {
  std::array<int, 2> up{};
  ASSERT_EQ(::pipe(up.data()), 0);
  const pid_t leader = ::fork();
  if (leader == 0) {
    ::setpgid(0, 0);
    (void)::fork();
    (void)!::write(up[1], "x", 1);
    while (true) ::pause();
  }
  char said = 0;
  for (int i = 0; i < 2; ++i) ASSERT_EQ(::read(up[0], &said, 1), 1);
  ProcessGroups memory;
  bool same = false;
  for (int turn = 0; turn < 10'000 && !same; ++turn) {  // they may still touch a page on their way
    memory.look({leader});
    same = memory.bytes(leader) == resident_bytes_of_group(leader);
  }

  EXPECT_TRUE(memory.knows(leader));
  EXPECT_TRUE(same);
  EXPECT_FALSE(memory.bytes(leader + 1'000'000));

  ::kill(-leader, SIGKILL);
  ::waitpid(leader, nullptr, 0);
  for (const int end : up) ::close(end);
}

TEST(ProcessGroups, CountTheProcessorTimeOfChildrenThatHaveEnded) {
  ProcessGroups groups;
  groups.look({::getpid()});
  const auto before = groups.cpu_time(::getpid());
  ASSERT_TRUE(before);
  const pid_t child = ::fork();
  if (child == 0) {
    while (std::clock() < CLOCKS_PER_SEC / 5) continue;
    ::_exit(0);
  }
  ::waitpid(child, nullptr, 0);

  EXPECT_GE(*groups.cpu_time(::getpid()) - *before, 100ms);
  EXPECT_FALSE(groups.cpu_time(child));
}

TEST_F(MemoryPressureTest, MeasuresTheCpuOfReplicasByTheirGroupsOnceItIsAsked) {
  const auto used = [this](int milliseconds) {
    for (const char* id : {"app-00001-1", "app-00001-2"}) {
      write(tree_ / id / "cpu.stat", "usage_usec " + std::to_string(milliseconds) + "000\n");
    }
  };
  // So large that no size of this process makes it short of memory: then readings are more
  // frequent.
  write(home_.path() / "machine/proc/meminfo", meminfo(30'000'000, 65'536'000));
  ManualTime time;
  ManualLoop loop{time};
  MemoryPressure pressure{loop, log_, cgroups_};
  ASSERT_FALSE(pressure.open(source(), [](const std::string&, const std::string&) {}));
  pressure.enter(tenant_);
  pressure.grouped("app-00001-1", cgroups_);
  const auto two_readings = [&](int first, int second) {
    used(first);
    pressure.look();
    used(second);
    time.run_for(2s);
  };
  two_readings(1000, 1500);
  EXPECT_EQ(pressure.cpu_of("app-00001-1"), std::nullopt);

  pressure.measure_cpu();
  time.run_for(2s);
  two_readings(1500, 2000);
  EXPECT_EQ(pressure.cpu_of("app-00001-1"), 250);
  // By its processes, which are those of this test.
  EXPECT_NE(pressure.cpu_of("app-00001-2"), std::nullopt);

  pressure.ended("app-00001-1");
  EXPECT_EQ(pressure.cpu_of("app-00001-1"), std::nullopt);
  pressure.leave(tenant_);
}

TEST(MachineMemory, TakesTheTighterOfTheMachineAndTheParentGroups) {
  const TemporaryDirectory home;
  const auto write = [&](const std::string& file, const std::string& text) {
    std::filesystem::create_directories((home.path() / file).parent_path());
    std::ofstream{home.path() / file} << text;
  };
  write("proc/meminfo", "MemTotal: 1048576 kB\nMemAvailable: 524288 kB\n");
  write("proc/self/mountinfo", "1 1 0:1 / /cg rw - cgroup2 cgroup2 rw\n");
  write("proc/self/cgroup", "0::/outer/inner\n");
  write("cg/cgroup.controllers", "cpu memory\n");
  for (const char* group : {"cg/outer", "cg/outer/inner"}) {
    write(std::string{group} + "/memory.current", "104857600\n");
    write(std::string{group} + "/memory.stat", "inactive_file 4194304\n");
    write(std::string{group} + "/memory.max", "max\n");
  }
  auto memory = MachineMemory::open("files:" + home.path().string());
  ASSERT_TRUE(memory.has_value());
  EXPECT_EQ(memory->read()->capacity, std::int64_t{1} << 30);

  write("cg/outer/memory.max", "134217728\n");

  const auto seen = memory->read();
  EXPECT_EQ(seen->capacity, 134'217'728);
  EXPECT_EQ(seen->used, 104'857'600 - 4'194'304);
}

}  // namespace
}  // namespace sluice::local
