#include "platform/process/child.h"

#include "common/base/lifetime.h"
#include "common/loop/asio_loop.h"
#include "common/loop/manual_loop.h"
#include "tests/unit/platform/process/eventually.h"
#include "tests/unit/platform/process/temporary_directory.h"

#include <boost/asio/io_context.hpp>
#include <gtest/gtest.h>

#include "platform/process/container.h"
#include "platform/process/cores.h"
#include "platform/process/listeners.h"
#include "platform/process/output_reader.h"
#include "platform/process/proc_files.h"
#include "platform/process/spawner.h"
#include <csignal>
#include <fcntl.h>
#include <fstream>
#include <functional>
#include <iterator>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

namespace sluice::local {
namespace {

SpawnSpec program(std::vector<std::string> argv) {
  SpawnSpec spec;
  spec.program = argv.front();
  spec.argv = std::move(argv);
  spec.env = {"A=1"};
  return spec;
}

SpawnSpec actor(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), SLUICE_TEST_ACTOR);
  return program(std::move(arguments));
}

/// Everything a child prints and how it ends.
struct Run {
  std::string output;
  std::optional<ExitStatus> status;
};

Run run(const SpawnSpec& spec) {
  boost::asio::io_context io;
  Reaper reaper(io);
  Run result;
  auto child = spawn(spec);
  if (!child) {
    result.output = child.error().text();
    return result;
  }
  OutputReader reader(io, std::move(child->stdout_end),
                      [&](std::string_view line) { result.output += std::string(line) + "\n"; });
  reaper.watch(child->pid, [&](ExitStatus status) { result.status = status; });
  eventually([&] { return result.status.has_value(); },
             [&] { io.run_one_for(std::chrono::seconds{1}); });
  reader.drain();
  return result;
}

TEST(Spawn, RunsAProgramWithItsEnvironmentAndReportsItsEnd) {
  EXPECT_EQ(run(actor({"print-env", "A"})).output, "1\n");
  EXPECT_EQ(run(actor({"print-env", "PATH"})).output, "(unset)\n");
  EXPECT_EQ(run(program({"/bin/true"})).status, (ExitStatus{0, {}}));
  EXPECT_EQ(run(actor({"exit", "3"})).status, (ExitStatus{3, {}}));
}

TEST(Spawn, InputIsEmpty) {
  EXPECT_EQ(run(program({"/bin/cat"})).status, (ExitStatus{0, {}}));
}

// Method: the kernel's own list of what the child may use.
TEST(Spawn, RunsOnItsCoresAlone) {
  const std::vector<int> ours = own_cores();
  ASSERT_FALSE(ours.empty());
  const std::vector<int> last{ours.back()};
  SpawnSpec spec = program({"/bin/grep", "Cpus_allowed_list", "/proc/self/status"});
  EXPECT_EQ(run(spec).output, "Cpus_allowed_list:\t" + format_cores(ours) + "\n");

  spec.cpus = last;

  EXPECT_EQ(run(spec).output, "Cpus_allowed_list:\t" + format_cores(last) + "\n");
  EXPECT_EQ(own_cores(), ours) << "the engine keeps its own";
}

TEST(Spawn, NamesCoresThatAreGone) {
  SpawnSpec spec = program({"/bin/true"});
  spec.cpus = {kCoreNumbers - 1};

  EXPECT_EQ(
      run(spec).output,
      "cannot start /bin/true: setting its cores to 4095: Invalid argument; correct `cpus` of "
      "its group in config.yaml");
}

TEST(Spawn, StartsInItsDirectory) {
  SpawnSpec spec = program({"/bin/pwd"});
  spec.cwd = "/usr";
  EXPECT_EQ(run(spec).output, "/usr\n");
}

TEST(Spawn, NamesWhyAProgramCannotRun) {
  EXPECT_EQ(run(program({"/nowhere/tool"})).output,
            "cannot start /nowhere/tool: No such file or directory; check that the program and its "
            "interpreter exist");
  SpawnSpec lost = program({"/bin/true"});
  lost.cwd = "/nowhere";
  EXPECT_EQ(run(lost).output,
            "cannot start /bin/true: /nowhere: No such file or directory; fix its working "
            "directory");
}

TEST(Spawn, ScriptWithoutInterpreterLineIsExplained) {
  const TemporaryDirectory directory;
  const auto script = directory.path() / "script";
  std::ofstream(script) << "echo hello\n";
  std::filesystem::permissions(script, std::filesystem::perms::owner_all);

  EXPECT_NE(run(program({script.string()})).output.find("#!/bin/sh"), std::string::npos);
}

TEST(Spawn, InheritsNoOtherDescriptor) {
  // Opened without close-on-exec, as a careless library might.
  const UniqueFd leaked(::fcntl(STDERR_FILENO, F_DUPFD, 200));
  auto pipe = make_pipe();
  ASSERT_TRUE(pipe.has_value());
  SpawnSpec spec = program({"/bin/ls", "/proc/self/fd"});
  spec.kept_fds = {pipe->second.get()};

  const std::string output = run(spec).output;

  EXPECT_EQ(output.find("\n" + std::to_string(leaked.get()) + "\n"), std::string::npos) << output;
  EXPECT_NE(output.find("\n" + std::to_string(pipe->second.get()) + "\n"), std::string::npos)
      << output;
}

TEST(Spawn, GivesDefaultSignalsAndMask) {
  ::signal(SIGUSR1, SIG_IGN);
  sigset_t blocked;
  ::sigemptyset(&blocked);
  ::sigaddset(&blocked, SIGUSR2);
  ::pthread_sigmask(SIG_BLOCK, &blocked, nullptr);

  const std::string status = run(program({"/bin/cat", "/proc/self/status"})).output;

  ::signal(SIGUSR1, SIG_DFL);
  ::pthread_sigmask(SIG_UNBLOCK, &blocked, nullptr);
  EXPECT_NE(status.find("SigIgn:\t0000000000000000"), std::string::npos) << status;
  EXPECT_NE(status.find("SigBlk:\t0000000000000000"), std::string::npos) << status;
}

TEST(Spawn, ChildGetsTheOpenFilesLimitItIsGiven) {
  SpawnSpec spec = program({"/bin/cat", "/proc/self/limits"});
  spec.open_files = 64;

  const std::string limits = run(spec).output;

  EXPECT_NE(limits.find("Max open files            64 "), std::string::npos) << limits;
}

// Goal: children die with us, even when we are killed.
// Method: a forked engine starts a child and is killed; the test, as sub-reaper, collects both.
TEST(Spawn, ChildIsKilledWhenItsParentExits) {
  ASSERT_TRUE(become_subreaper());
  auto pipe = make_pipe();
  ASSERT_TRUE(pipe.has_value());
  const pid_t engine = ::fork();
  if (engine == 0) {
    const auto child = spawn(actor({"wait"}));
    const pid_t pid = child ? child->pid : -1;
    static_cast<void>(!::write(pipe->second.get(), &pid, sizeof pid));
    for (;;) ::pause();
  }
  pid_t child = -1;
  ASSERT_EQ(::read(pipe->first.get(), &child, sizeof child), static_cast<ssize_t>(sizeof child));
  ASSERT_GT(child, 1);

  ::kill(engine, SIGKILL);

  ::waitpid(engine, nullptr, 0);
  int status = 0;
  EXPECT_TRUE(eventually([&] { return ::waitpid(child, &status, WNOHANG) == child; }));
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

// Goal: what a leader leaves behind in its group goes with it, and is reaped.
TEST(Reaper, KillsTheRestOfAGroupWithItsLeader) {
  ASSERT_TRUE(become_subreaper());
  boost::asio::io_context io;
  Reaper reaper(io);
  const auto child = spawn(actor({"forking", "0"}));
  ASSERT_TRUE(child.has_value());
  const pid_t group = child->pid;
  std::optional<ExitStatus> status;
  reaper.watch(group, [&](ExitStatus end) { status = end; });
  ASSERT_TRUE(eventually([&] { return processes_of_group(group).size() == 2; }));

  ::kill(group, SIGTERM);

  EXPECT_TRUE(eventually([&] { return status && ::kill(-group, 0) != 0; },
                         [&] { io.run_one_for(std::chrono::milliseconds{20}); }));
  EXPECT_EQ(status, (ExitStatus{{}, SIGTERM}));
  EXPECT_EQ(status->text(), "signal 15 (Terminated)");
  EXPECT_TRUE(reaper.watched().empty());
}

TEST(Strays, AreFoundFromAProcessBelowThemAndKilledWithTheirGroup) {
  ASSERT_TRUE(become_subreaper());
  boost::asio::io_context io;
  Reaper reaper(io);
  const auto child = spawn(actor({"forking", "0"}));
  ASSERT_TRUE(child.has_value());
  const pid_t group = child->pid;
  ASSERT_TRUE(eventually([&] { return processes_of_group(group).size() == 2; }));
  const pid_t below = processes_of_group(group).back();

  EXPECT_EQ(kill_stray_above(below, {group}), "") << "it is known";
  EXPECT_EQ(kill_stray_above(::getppid(), {}), "") << "it is no child";
  EXPECT_NE(kill_stray_above(below, {}), "");

  EXPECT_TRUE(eventually([&] { return ::kill(-group, 0) != 0; },
                         [&] { io.run_one_for(std::chrono::milliseconds{20}); }));
}

TEST(Reaper, AChildThatEndsDuringAHoldIsReportedOnceItIsWatched) {
  boost::asio::io_context io;
  Reaper reaper(io);
  reaper.hold();
  const auto child = spawn(actor({"exit", "3"}));
  ASSERT_TRUE(child.has_value());
  ASSERT_TRUE(eventually([&] { return process_stat(child->pid)->zombie; },
                         [&] { io.run_one_for(std::chrono::milliseconds{20}); }));
  io.poll();
  std::optional<ExitStatus> status;

  reaper.watch(child->pid, [&](ExitStatus end) { status = end; });
  reaper.release();

  EXPECT_TRUE(eventually([&] { return status.has_value(); },
                         [&] { io.run_one_for(std::chrono::milliseconds{20}); }));
  EXPECT_EQ(status->exit_code, 3);
}

bool has_children() {
  siginfo_t info{};
  return ::waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0;
}

// Goal: a hold that begins in the callback of an end is kept in the same turn.
// Method: a child that ends in there, found by the kernel's next answer if all are reaped.
TEST(Reaper, AHoldFromACallbackIsKept) {
  boost::asio::io_context io;
  Reaper reaper(io);
  const auto first = spawn(actor({"exit", "0"}));
  ASSERT_TRUE(first.has_value());
  std::optional<pid_t> second;
  std::optional<ExitStatus> status;
  reaper.watch(first->pid, [&](ExitStatus) {
    reaper.hold();
    const auto child = spawn(actor({"exit", "3"}));
    ASSERT_TRUE(child.has_value());
    siginfo_t info{};
    ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(child->pid), &info, WEXITED | WNOWAIT), 0);
    second = child->pid;
  });
  ASSERT_TRUE(eventually([&] { return second.has_value(); },
                         [&] { io.run_one_for(std::chrono::milliseconds{20}); }));

  reaper.watch(*second, [&](ExitStatus end) { status = end; });
  reaper.release();

  EXPECT_TRUE(eventually([&] { return status.has_value(); },
                         [&] { io.run_one_for(std::chrono::milliseconds{20}); }));
  EXPECT_EQ(status->exit_code, 3);
}

struct SpawnerTest : testing::Test {
  bool until(const std::function<bool()>& condition) {
    return eventually(condition, [this] { io.run_one_for(std::chrono::milliseconds{20}); });
  }

  boost::asio::io_context io;
  ManualTime time;
  ManualLoop loop{time};
  Reaper reaper{io};
  std::optional<Spawner> spawner{std::in_place, io, loop, reaper};
  const Lifetime owner{};
};

// Goal: nothing runs for an owner that is gone.
// Method: the owner ends in the turn of the order, before or after the program has started.
TEST_F(SpawnerTest, WhatIsNotWantedIsNotStartedOrIsKilled) {
  Lifetime gone;
  bool called = false;
  bool last = false;
  spawner->start(actor({"wait"}), gone.watch(), [&](const auto&) { called = true; });
  spawner->start(actor({"exit", "0"}), owner.watch(), [&](Result<Child, Problem> child) {
    ASSERT_TRUE(child.has_value());
    reaper.watch(child->pid, [&](ExitStatus) { last = true; });
  });
  gone.end();

  EXPECT_TRUE(until([&] { return last && !has_children(); }));
  EXPECT_FALSE(called);
}

TEST_F(SpawnerTest, EndsItsThreadInTime) {
  EXPECT_TRUE(spawner->end(std::chrono::seconds{10}));
}

// Goal: no end is missed, however soon it comes.
// Method: programs that end at once, all asked for in one turn of the loop.
TEST_F(SpawnerTest, ReportsEveryChildAndEveryEnd) {
  constexpr int kChildren = 20;
  int ended = 0;
  std::vector<Child> children;
  for (int i = 0; i < kChildren; ++i) {
    spawner->start(actor({"exit", "3"}), owner.watch(), [&](Result<Child, Problem> child) {
      ASSERT_TRUE(child.has_value());
      reaper.watch(child->pid, [&](ExitStatus end) { ended += end.exit_code == 3 ? 1 : 0; });
      children.push_back(std::move(*child));
    });
  }
  std::optional<std::string> problem;
  spawner->start(program({"/nowhere/app"}), owner.watch(),
                 [&](const Result<Child, Problem>& child) { problem = child.error().what; });
  EXPECT_TRUE(children.empty());

  EXPECT_TRUE(until([&] { return ended == kChildren && problem; }));

  EXPECT_EQ(problem, "cannot start /nowhere/app: No such file or directory");
}

TEST_F(SpawnerTest, ItsChildrenEndWithIt) {
  std::optional<Child> child;
  std::optional<ExitStatus> status;
  spawner->start(actor({"wait"}), owner.watch(), [&](Result<Child, Problem> started) {
    child = std::move(*started);
    reaper.watch(child->pid, [&](ExitStatus end) { status = end; });
  });
  ASSERT_TRUE(until([&] { return child.has_value(); }));

  spawner.reset();

  EXPECT_TRUE(until([&] { return status.has_value(); }));
  EXPECT_EQ(status->signal, SIGKILL);
}

// Goal: one start that does not return stops neither the others nor the engine.
// Method: what holds it up is a pipe without a reader, in place of a file system that is dead.
TEST_F(SpawnerTest, AStartThatDoesNotReturnIsGivenUpAndTheOthersGoOn) {
  const TemporaryDirectory scratch;
  const auto pipe = scratch.path() / "cgroup.procs";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  SpawnSpec hangs = actor({"wait"});
  hangs.cwd = "/";
  hangs.cgroup_dirs = {scratch.path()};
  std::vector<std::string> problems;
  const auto refused = [&](const Result<Child, Problem>& child) {
    problems.push_back(child ? "none" : child.error().what);
  };
  const std::string problem =
      "cannot start " + hangs.program.string() + ": exec has not returned within 5 s";

  spawner->start(hangs, owner.watch(), refused);
  ASSERT_TRUE(eventually([&] { return !problems.empty(); },
                         [&] { time.run_for(std::chrono::seconds{1}); }));
  bool ended = false;
  spawner->start(actor({"exit", "0"}), owner.watch(), [&](Result<Child, Problem> child) {
    ASSERT_TRUE(child.has_value());
    reaper.watch(child->pid, [&](ExitStatus) { ended = true; });
  });
  spawner->start(hangs, owner.watch(), refused);

  EXPECT_TRUE(until([&] { return ended && problems.size() == 2; }));
  EXPECT_EQ(problems, (std::vector<std::string>{problem, problem}));
  EXPECT_FALSE(spawner->end(std::chrono::milliseconds{1}));
  const UniqueFd reader(::open(pipe.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  EXPECT_TRUE(until([&] { return spawner->end(Duration{0}) && !has_children(); }));
}

// Method: a runtime whose first two removals fail.
TEST(Container, IsRemovedHoweverOftenItsRuntimeFails) {
  const TemporaryDirectory scratch;
  ContainerPlan plan;
  plan.name = "app";
  plan.host.runtime = scratch.path() / "podman";
  plan.ours = {"PATH=/usr/bin:/bin"};
  plan.id_file = scratch.path() / "id";
  plan.env_file = scratch.path() / "environment";
  std::ofstream{plan.host.runtime} << "#!/bin/sh\n[ $1 = ps ] && exec echo c1\n"
                                      "echo $* >> $0.log\n[ $(wc -l < $0.log) = 3 ]\n";
  std::filesystem::permissions(plan.host.runtime, std::filesystem::perms::owner_all);
  boost::asio::io_context io;
  const Clock clock;
  AsioLoop loop{io, clock};
  Reaper reaper(io);
  Spawner spawner(io, loop, reaper);
  Container container(io, loop, reaper, spawner, plan);
  ASSERT_TRUE(container.prepare());
  std::ofstream{plan.id_file} << "c1";

  container.remove([&] { io.stop(); });
  io.run_for(std::chrono::seconds{20});

  EXPECT_TRUE(container.gone());
  std::ifstream log{scratch.path() / "podman.log"};
  EXPECT_EQ((std::string{std::istreambuf_iterator<char>{log}, {}}),
            "rm --force c1\nrm --force c1\nrm --force c1\n");
}

TEST(OutputReader, ADrainMissesNothingThatThePipeHeldFromTheStart) {
  boost::asio::io_context io;
  auto pipe = make_pipe();
  ASSERT_TRUE(pipe.has_value());
  ASSERT_EQ(::fcntl(pipe->first.get(), F_SETFL, O_NONBLOCK), 0);
  ASSERT_EQ(::write(pipe->second.get(), "a\nb\n", 4), 4);
  std::string seen;
  OutputReader reader(io, std::move(pipe->first), [&](std::string_view line) { seen += line; });

  reader.drain();

  EXPECT_EQ(seen, "ab");
}

TEST(OutputReader, SplitsLongLinesAndKeepsTheLastWithoutEnd) {
  boost::asio::io_context io;
  auto pipe = make_pipe();
  ASSERT_TRUE(pipe.has_value());
  const std::string text = "one\r\n\n" + std::string(20'000, 'x') + "\nlast";
  ASSERT_EQ(::write(pipe->second.get(), text.data(), text.size()),
            static_cast<ssize_t>(text.size()));
  pipe->second.reset();
  std::vector<std::size_t> sizes;

  OutputReader reader(io, std::move(pipe->first),
                      [&](std::string_view line) { sizes.push_back(line.size()); });
  io.run();

  EXPECT_EQ(sizes, (std::vector<std::size_t>{3, 0, 16384, 3616, 4}));
}

// Goal: no sequence is cut where a long line is. Method: one begins just before 16 KiB.
TEST(OutputReader, RemovesEscapeSequencesBeforeLinesAreSplit) {
  boost::asio::io_context io;
  auto pipe = make_pipe();
  ASSERT_TRUE(pipe.has_value());
  const std::string text =
      std::string(16'382, 'x') + "\x1b[1;31mred\x1b[0m\n\x1b]0;title\x07shown\x1b[";
  ASSERT_EQ(::write(pipe->second.get(), text.data(), text.size()),
            static_cast<ssize_t>(text.size()));
  pipe->second.reset();
  std::vector<std::string> lines;

  OutputReader reader(io, std::move(pipe->first),
                      [&](std::string_view line) { lines.emplace_back(line); });
  io.run();

  EXPECT_EQ(lines, (std::vector<std::string>{std::string(16'382, 'x') + "re", "d", "shown"}));
}

}  // namespace
}  // namespace sluice::local
