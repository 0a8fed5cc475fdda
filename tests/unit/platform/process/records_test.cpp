#include "tests/unit/platform/process/eventually.h"
#include "tests/unit/platform/process/temporary_directory.h"

#include <gtest/gtest.h>

#include "platform/process/cgroup.h"
#include "platform/process/child.h"
#include "platform/process/replica_journal.h"
#include "platform/process/service_log.h"
#include <csignal>
#include <fstream>
#include <sstream>
#include <sys/resource.h>
#include <sys/wait.h>

namespace sluice::local {
namespace {

using namespace std::chrono_literals;

const TimePoint kTime{std::chrono::seconds{1'800'000'000} + 61ms};

pid_t start_waiting() {
  SpawnSpec spec;
  spec.program = SLUICE_TEST_ACTOR;
  spec.argv = {"actor", "wait"};
  spec.env = {"K_REVISION=app-00001"};
  const auto child = spawn(spec);
  return child ? child->pid : -1;
}

TEST(ReplicaJournal, KillsReplicasLeftByAnEarlierEngine) {
  const TemporaryDirectory directory;
  const auto file = directory.path() / "replicas.json";
  const pid_t pid = start_waiting();
  ReplicaJournal(file).add("app-00001-1", pid);

  EXPECT_EQ(ReplicaJournal(file).kill_leftovers(), std::vector<std::string>{"app-00001-1"});

  int status = 0;
  EXPECT_EQ(::waitpid(pid, &status, 0), pid);
  EXPECT_EQ(WTERMSIG(status), SIGKILL);
  EXPECT_TRUE(ReplicaJournal(file).kill_leftovers().empty());
}

TEST(ReplicaJournal, DoesNotKillWhatHasEndedAndIsNotReaped) {
  const TemporaryDirectory directory;
  const auto file = directory.path() / "replicas.json";
  const pid_t pid = start_waiting();
  ReplicaJournal(file).add("app-00001-1", pid);
  EXPECT_EQ(::kill(pid, SIGKILL), 0);
  siginfo_t ended{};
  EXPECT_EQ(::waitid(P_PID, static_cast<id_t>(pid), &ended, WEXITED | WNOWAIT), 0);

  EXPECT_TRUE(ReplicaJournal(file).kill_leftovers().empty());

  ::waitpid(pid, nullptr, 0);
}

TEST(ReplicaJournal, NeverKillsAnotherProcessWithTheSameNumber) {
  const TemporaryDirectory directory;
  const auto file = directory.path() / "replicas.json";
  const pid_t pid = start_waiting();
  ReplicaJournal(file).add("app-00001-1", pid);
  std::stringstream text;
  text << std::ifstream(file).rdbuf();
  std::string json = text.str();
  const std::string ticks = std::to_string(process_start_ticks(pid));
  json.replace(json.find(ticks), ticks.size(), "1");
  std::ofstream(file) << json;

  EXPECT_TRUE(ReplicaJournal(file).kill_leftovers().empty());

  EXPECT_EQ(::kill(pid, SIGKILL), 0);
  ::waitpid(pid, nullptr, 0);
}

TEST(ReplicaJournal, DropsEndedReplicasAndSurvivesABrokenFile) {
  const TemporaryDirectory directory;
  const auto file = directory.path() / "replicas.json";
  const pid_t pid = start_waiting();
  ReplicaJournal journal(file);
  journal.add("app-00001-1", pid);
  journal.remove("app-00001-1");
  EXPECT_TRUE(ReplicaJournal(file).kill_leftovers().empty());
  for (const char* broken : {"", "{", "[]", "{\"boot\":1,\"groups\":3}", "{\"groups\":[1]}"}) {
    std::ofstream(file) << broken;
    EXPECT_TRUE(ReplicaJournal(file).kill_leftovers().empty()) << broken;
  }

  kill_group(pid, SIGKILL);
  ::waitpid(pid, nullptr, 0);
}

TEST(ServiceLog, KeepsLinesWithTimeAndReplica) {
  const TemporaryDirectory directory;
  ServiceLog log(directory.path() / "logs", "app", nullptr);
  log.append(kTime, {"app-00001-1", 1}, "hello\tworld \x1b[31m");
  log.append(kTime + 1s, {"app-00001-2", 2}, "");

  EXPECT_EQ(tail_log(log.file(), {}),
            (std::vector<LogLine>{{kTime, "app-00001-1", "hello\tworld ?[31m", 1},
                                  {kTime + 1s, "app-00001-2", "", 2}}));
  EXPECT_EQ(tail_log(log.file(), {.lines = 1})[0].replica, "app-00001-2");
  EXPECT_EQ(tail_log(log.file(), {.replica = "app-00001-1"}).size(), 1U);
  EXPECT_TRUE(tail_log(directory.path() / "none.log", {}).empty());
}

TEST(ServiceLog, SplitsLongLines) {
  const TemporaryDirectory directory;
  ServiceLog log(directory.path(), "app", nullptr);
  log.append(kTime, {"r"}, std::string(40'000, 'x'));

  const auto lines = tail_log(log.file(), {});

  ASSERT_EQ(lines.size(), 3U);
  EXPECT_EQ(lines[0].text.size(), kLogLineBytesMax);
  EXPECT_EQ(lines[2].text.size(), 40'000 - 2 * kLogLineBytesMax);
}

TEST(ServiceLog, RotatesAndReadsAcrossFiles) {
  const TemporaryDirectory directory;
  ServiceLog log(directory.path(), "app", nullptr, {.file_bytes_max = 1000, .files_max = 3});
  for (int i = 0; i < 200; ++i) log.append(kTime, {"r"}, std::to_string(i));

  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(directory.path())) {
    EXPECT_LE(entry.file_size(), 1000U);
    ++files;
  }
  EXPECT_EQ(files, 3);
  const auto lines = tail_log(log.file(), {.lines = 60});
  ASSERT_EQ(lines.size(), 60U);
  EXPECT_EQ(lines.front().text, "140");
  EXPECT_EQ(lines.back().text, "199");
  EXPECT_LE(tail_log(log.file(), {.lines = 60, .bytes_max = 100}).size(), 4U);
}

TEST(ServiceLog, ReturnsLinesSinceATime) {
  const TemporaryDirectory directory;
  ServiceLog log(directory.path(), "app", nullptr);
  for (int i = 0; i < 5; ++i) log.append(kTime + i * 1s, {"r", 1}, std::to_string(i));

  const auto lines = tail_log(log.file(), {.since = kTime + 3s});

  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(lines.front().text, "3");
}

TEST(ServiceLog, NumbersOfStartsGoOnAfterAnEngineHasEnded) {
  const TemporaryDirectory directory;
  {
    ServiceLog log(directory.path(), "app", nullptr);
    EXPECT_EQ(log.begin_start(), 1);
    EXPECT_EQ(log.begin_start(), 2);
    log.append(kTime, {"app-00001-2", 2}, "text");
    log.append(kTime, {"app-00001-1", 1}, "text");
  }
  ServiceLog later(directory.path(), "app", nullptr);
  EXPECT_EQ(later.begin_start(), 3);
  // As an earlier version wrote it.
  std::ofstream(directory.path() / "old.log") << "2026-11-20T14:03:12.061Z old-00001-1 text\n";
  EXPECT_EQ(ServiceLog(directory.path(), "old", nullptr).begin_start(), 1);
  EXPECT_EQ(tail_log(directory.path() / "old.log", {}).at(0).replica, "old-00001-1");
}

TEST(ServiceLog, AFileThatWasDeletedIsMadeAgain) {
  const TemporaryDirectory directory;
  ServiceLog log(directory.path() / "logs", "app", nullptr);
  log.append(kTime, {"r"}, "one");
  std::filesystem::remove_all(directory.path() / "logs");
  log.append(kTime, {"r"}, "two");

  const auto lines = tail_log(log.file(), {});

  ASSERT_EQ(lines.size(), 1U);
  EXPECT_EQ(lines[0].text, "two");
}

/// A disk of this process that is full while it exists: its files may not grow past 100 bytes.
class SmallFiles {
 public:
  SmallFiles() {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    ::signal(SIGXFSZ, SIG_IGN);
    rlimit small = before_;
    small.rlim_cur = 100;
    ::setrlimit(RLIMIT_FSIZE, &small);
  }

  SmallFiles(const SmallFiles&) = delete;
  SmallFiles& operator=(const SmallFiles&) = delete;

  ~SmallFiles() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    ::signal(SIGXFSZ, SIG_DFL);
  }

 private:
  rlimit before_{};
};

// Goal: what cannot be written costs lines and one warning, never a stop, and the log names the
// loss.
TEST(ServiceLog, AFileThatCannotGrowCostsLinesAndOneWarning) {
  const TemporaryDirectory directory;
  std::vector<std::string> warnings;
  ServiceLog log(directory.path(), "app",
                 [&](const std::string& text) { warnings.push_back(text); });
  {
    const SmallFiles limit;
    for (int i = 0; i < 10; ++i) log.append(kTime + i * 1s, {"r"}, "some text");
    EXPECT_EQ(log.loss()->text, "8 lines since then not kept: file too large");
    EXPECT_EQ(log.loss()->time, kTime + 2s);
  }
  // Short lines fit where long ones do not: it has not worked for a while yet.
  log.append(kTime + 10s, {"r"}, "again");
  {
    const SmallFiles limit;
    log.append(kTime + 11s, {"r"}, "lost");
  }
  EXPECT_EQ(warnings.size(), 1U);
  log.append(kTime + 30s, {"r"}, "later");

  EXPECT_FALSE(log.loss());
  const auto lines = tail_log(log.file(), {.replica = "r"});
  ASSERT_EQ(lines.size(), 5U);
  EXPECT_EQ(lines[2].text, "9 lines in the next 9s not kept: file too large");
  EXPECT_EQ(lines[2].time, kTime + 2s);
  {
    const SmallFiles limit;
    log.append(kTime + 60s, {"r"}, "lost");
  }
  EXPECT_EQ(warnings.size(), 2U);
}

// Goal: a full disk is one warning, however many logs are on it. Method: /dev/full.
TEST(ServiceLog, AFullDiskIsOneWarningForAllLogs) {
  const TemporaryDirectory directory;
  std::vector<std::string> warnings;
  const auto warn = [&](const std::string& text) { warnings.push_back(text); };
  FailureNotice full_disk;
  for (const char* name : {"a", "b", "c"}) {
    std::filesystem::create_symlink("/dev/full", directory.path() / (std::string(name) + ".log"));
  }
  ServiceLog a(directory.path(), "a", warn, {}, &full_disk);
  ServiceLog b(directory.path(), "b", warn, {}, &full_disk);
  for (int i = 0; i < 5; ++i) {
    a.append(kTime, {"r"}, "text");
    b.append(kTime, {"r"}, "text");
  }
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_EQ(warnings[0], "cannot write " + a.file().string() +
                             ": no space left on device; what services print is not kept until it "
                             "works again");
  std::filesystem::remove(b.file());
  b.append(kTime + 20s, {"r"}, "there is space");
  ServiceLog(directory.path(), "c", warn, {}, &full_disk).append(kTime + 21s, {"r"}, "text");
  EXPECT_EQ(warnings.size(), 2U);
}

TEST(CgroupTree, WithoutATreeNothingIsLimited) {
  const CgroupTree tree;

  EXPECT_EQ(tree.kind(), CgroupKind::none);
  EXPECT_TRUE(tree.create("app-00001-1", {.cpu = 1, .memory = 1 << 20})->empty());
  EXPECT_FALSE(tree.memory_bytes("app-00001-1").has_value());
  EXPECT_FALSE(tree.can_limit_cpu());
}

std::string content(const std::filesystem::path& file) {
  std::stringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

// Method: plain files stand in for the kernel's.
TEST(CgroupTree, WritesTheLimitsOfVersionTwo) {
  const TemporaryDirectory directory;
  const auto group = directory.path() / "r1";
  std::filesystem::create_directory(group);
  std::ofstream(directory.path() / "cgroup.subtree_control") << "cpuset cpu memory\n";
  for (const char* name : {"memory.max", "cpu.max"}) std::ofstream(group / name);
  std::ofstream(group / "memory.current") << "4096\n";
  const CgroupTree tree(CgroupKind::v2, directory.path(), directory.path());

  const auto directories = tree.create("r1", {.cpu = 0.5, .memory = 64 << 20});

  ASSERT_TRUE(directories.has_value()) << directories.error().text();
  EXPECT_EQ(*directories, std::vector<std::filesystem::path>{group});
  EXPECT_EQ(content(group / "memory.max"), "67108864");
  EXPECT_EQ(content(group / "cpu.max"), "50000 100000");
  EXPECT_EQ(tree.memory_bytes("r1"), 4096);
}

TEST(CgroupTree, WithoutTheControllerNothingIsWritten) {
  const TemporaryDirectory directory;
  std::ofstream(directory.path() / "cgroup.subtree_control") << "cpuset pids\n";
  const CgroupTree tree(CgroupKind::v2, directory.path(), directory.path());

  EXPECT_FALSE(tree.can_limit_cpu());
  EXPECT_FALSE(tree.can_limit_memory());
  EXPECT_TRUE(tree.create("r1", {.cpu = 0.5, .memory = 64 << 20}).has_value());
}

TEST(CgroupTree, LimitsWhereTheMachineAllows) {
  const CgroupTree tree = CgroupTree::detect("sluice-unit-test", "/run/sluice");
  if (!tree.can_limit_memory()) {
    EXPECT_EQ(tree.create("r1", {.cpu = 0.5, .memory = 64 << 20}).has_value(), true);
    return;
  }

  const auto directories = tree.create("r1", {.cpu = 0.5, .memory = 64 << 20});
  ASSERT_TRUE(directories.has_value()) << directories.error().text();
  SpawnSpec spec;
  spec.program = SLUICE_TEST_ACTOR;
  spec.argv = {"actor", "wait"};
  spec.cgroup_dirs = *directories;
  const auto child = spawn(spec);
  ASSERT_TRUE(child.has_value()) << child.error().text();
  EXPECT_GT(tree.memory_bytes("r1").value_or(0), 0);

  kill_group(child->pid, SIGKILL);
  ::waitpid(child->pid, nullptr, 0);
  EXPECT_TRUE(eventually([&] {
    tree.remove("r1");
    return !std::filesystem::exists(directories->front());
  }));
  tree.clear();
}

}  // namespace
}  // namespace sluice::local
