// Between fork and exec only async-signal-safe calls are made: everything that allocates (argument
// vectors, paths, messages) is made before the fork. All signals are blocked across it, so that no
// handler of ours runs in the child and writes into pipes that the two still share.

#include "platform/process/child.h"

#include <climits>
#include <fmt/format.h>

#include "platform/process/cores.h"
#include "platform/process/proc_files.h"
#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <linux/close_range.h>
#include <poll.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;

namespace sluice::local {
namespace {

constexpr int kFirstFreeFd = 3;
// vfork() returns when the program runs or has failed. ThreadSanitizer makes it a fork(), after
// which a start waits for that.
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
constexpr int kWaitMilliseconds = 5000;
#else
constexpr int kWaitMilliseconds = 0;
#endif
#else
constexpr int kWaitMilliseconds = 0;
#endif
constexpr std::size_t kEnvironBytesMax = std::size_t{256} << 10;
constexpr int kAncestorsMax = 64;

enum class Step : int { directory, cgroup, cores, limit, program, parent };

/// What a child that could not run its program writes into the pipe to us.
struct ChildFailure {
  Step step;
  int error;
};

/// Everything the child needs, made before the fork.
struct ChildPlan {
  std::vector<char*> argv;
  std::vector<char*> env;
  const char* program = nullptr;
  const char* cwd = nullptr;
  std::vector<UniqueFd> cgroup_files;
  std::vector<int> kept_fds;
  int input = -1;
  int output = -1;
  int error = -1;
  int failure = -1;
  pid_t parent = -1;
  std::optional<rlim_t> open_files;
  std::vector<unsigned long> cores;  // empty: all of ours
  bool outlives_us = false;
};

[[noreturn]] void give_up(const ChildPlan& plan, Step step) {
  const ChildFailure failure{step, errno};
  // The parent reads an empty pipe as success, so a failed write must not look like one either:
  // the exit code is then all it sees.
  static_cast<void>(!::write(plan.failure, &failure, sizeof failure));
  ::_exit(127);
}

void reset_signals() {
  struct sigaction action {};

  action.sa_handler = SIG_DFL;
  // The numbers between the last standard and the first real-time signal are the library's own; the
  // call refuses them and nothing is lost.
  for (int signal = 1; signal < NSIG; ++signal) ::sigaction(signal, &action, nullptr);
  sigset_t none;
  ::sigemptyset(&none);
  ::pthread_sigmask(SIG_SETMASK, &none, nullptr);
}

void mark_close_on_exec() {
  if (::syscall(SYS_close_range, kFirstFreeFd, UINT_MAX, CLOSE_RANGE_CLOEXEC) == 0) return;
  // A kernel before 5.11.
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  const auto last = static_cast<int>(std::min<rlim_t>(limit.rlim_cur, 1U << 20));
  for (int fd = kFirstFreeFd; fd < last; ++fd) {
    const int flags = ::fcntl(fd, F_GETFD);
    if (flags >= 0) ::fcntl(fd, F_SETFD, flags | FD_CLOEXEC);
  }
}

[[noreturn]] void run_child(const ChildPlan& plan) {
  if (plan.outlives_us) {
    ::setsid();
  } else {
    ::setpgid(0, 0);
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  }
  // The parent may have ended before the line above: then no signal would ever kill this process.
  if (::getppid() != plan.parent) give_up(plan, Step::parent);
  for (const UniqueFd& file : plan.cgroup_files) {
    if (::write(file.get(), "0", 1) != 1) give_up(plan, Step::cgroup);
  }
  if (!plan.cores.empty() &&
      ::sched_setaffinity(0, plan.cores.size() * sizeof(unsigned long),
                          reinterpret_cast<const cpu_set_t*>(plan.cores.data())) != 0) {
    give_up(plan, Step::cores);
  }
  ::dup2(plan.input, STDIN_FILENO);
  ::dup2(plan.output, STDOUT_FILENO);
  ::dup2(plan.error, STDERR_FILENO);
  mark_close_on_exec();
  for (const int fd : plan.kept_fds) ::fcntl(fd, F_SETFD, 0);
  if (plan.cwd != nullptr && ::chdir(plan.cwd) != 0) give_up(plan, Step::directory);
  if (plan.open_files) {
    rlimit limit{};
    ::getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = std::min(*plan.open_files, limit.rlim_max);
    if (::setrlimit(RLIMIT_NOFILE, &limit) != 0) give_up(plan, Step::limit);
  }
  reset_signals();
  ::execve(plan.program, plan.argv.data(), plan.env.data());
  give_up(plan, Step::program);
}

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> result;
  result.reserve(texts.size() + 1);
  // execve takes pointers to non-const and changes nothing.
  for (const std::string& text : texts) result.push_back(const_cast<char*>(text.c_str()));
  result.push_back(nullptr);
  return result;
}

Problem cannot_start(const SpawnSpec& spec, const std::string& reason, const std::string& fix) {
  return {fmt::format("cannot start {}: {}", spec.program.string(), reason), fix};
}

Problem explain(const SpawnSpec& spec, const ChildFailure& failure) {
  const std::string reason = std::strerror(failure.error);
  switch (failure.step) {
    case Step::directory:
      return cannot_start(spec, fmt::format("{}: {}", spec.cwd.string(), reason),
                          "fix its working directory");
    case Step::cgroup:
      return cannot_start(spec, "joining its cgroup: " + reason, "run `sluice doctor`");
    case Step::cores:
      return cannot_start(
          spec, fmt::format("setting its cores to {}: {}", format_cores(spec.cpus), reason),
          "correct `cpus` of its group in config.yaml");
    case Step::limit:
      return cannot_start(spec, "setting its open files: " + reason, "raise the limit (ulimit -n)");
    case Step::parent:
      return cannot_start(spec, "the engine is ending", "start it again");
    case Step::program:
      break;
  }
  if (failure.error == ENOEXEC)
    return cannot_start(spec, reason, "a script needs a first line like #!/bin/sh");
  if (failure.error == E2BIG) return cannot_start(spec, reason, "shorten arguments or environment");
  return cannot_start(spec, reason, "check that the program and its interpreter exist");
}

bool set_nonblocking(int fd) {
  const int flags = ::fcntl(fd, F_GETFL);
  return flags >= 0 && ::fcntl(fd, F_SETFL, flags | O_NONBLOCK) == 0;
}

/// What the child has written; nothing: it runs its program.
std::optional<ChildFailure> failure_in(int pipe) {
  if (kWaitMilliseconds > 0) {
    pollfd waiting{pipe, POLLIN, 0};
    ::poll(&waiting, 1, kWaitMilliseconds);
  }
  ChildFailure failure{};
  const auto count = ::read(pipe, &failure, sizeof failure);
  if (count == static_cast<ssize_t>(sizeof failure)) return failure;
  return std::nullopt;
}

}  // namespace

Result<std::pair<UniqueFd, UniqueFd>, Problem> make_pipe() {
  std::array<int, 2> ends{};
  const auto failed = [] {
    return Problem{fmt::format("cannot make a pipe: {}", std::strerror(errno)),
                   "raise the limit of open files (ulimit -n)"};
  };
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return failed();
  std::pair<UniqueFd, UniqueFd> pipe{UniqueFd(ends[0]), UniqueFd(ends[1])};
  for (UniqueFd* end : {&pipe.first, &pipe.second}) {
    if (end->get() >= kFirstFreeFd) continue;
    // Our own standard descriptors were closed; a pipe must not take their place.
    end->reset(::fcntl(end->get(), F_DUPFD_CLOEXEC, kFirstFreeFd));
    if (!*end) return failed();
  }
  return pipe;
}

Result<Child, Problem> spawn(const SpawnSpec& spec) {
  auto output = make_pipe();
  auto error = make_pipe();
  auto failure = make_pipe();
  for (const auto* pipe : {&output, &error, &failure}) {
    if (!*pipe) return pipe->error();
  }
  const UniqueFd opened(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  const UniqueFd input(::fcntl(opened.get(), F_DUPFD_CLOEXEC, kFirstFreeFd));
  const auto for_us = {output->first.get(), error->first.get(), failure->first.get()};
  if (!input || !std::all_of(for_us.begin(), for_us.end(), set_nonblocking))
    return cannot_start(spec, std::strerror(errno), "check /dev/null and the open files limit");

  ChildPlan plan;
  plan.argv = pointers(spec.argv);
  plan.env = pointers(spec.env);
  plan.program = spec.program.c_str();
  plan.cwd = spec.cwd.empty() ? nullptr : spec.cwd.c_str();
  for (const auto& directory : spec.cgroup_dirs) {
    UniqueFd file(::open((directory / "cgroup.procs").c_str(), O_WRONLY | O_CLOEXEC));
    if (!file)
      return cannot_start(spec, fmt::format("{}: {}", directory.string(), std::strerror(errno)),
                          "run `sluice doctor`");
    plan.cgroup_files.push_back(std::move(file));
  }
  plan.kept_fds = spec.kept_fds;
  plan.input = input.get();
  plan.output = output->second.get();
  plan.error = error->second.get();
  plan.failure = failure->second.get();
  plan.parent = ::getpid();
  if (spec.open_files) plan.open_files = *spec.open_files;
  if (!spec.cpus.empty()) plan.cores = core_mask(spec.cpus);
  plan.outlives_us = spec.outlives_us;

  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  // vfork: no page tables to copy, and when it returns the program already runs or has failed.
  const pid_t pid = ::vfork();
  if (pid == 0) run_child(plan);
  const int fork_error = errno;
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (pid < 0)
    return cannot_start(spec, std::strerror(fork_error), "raise the process limit (ulimit -u)");
  // Set on both sides, so that the group exists whichever side runs first.
  ::setpgid(pid, pid);
  failure->second.reset();
  if (const auto failed = failure_in(failure->first.get())) {
    ::kill(pid, SIGKILL);
    ::waitpid(pid, nullptr, 0);
    return explain(spec, *failed);
  }
  return Child{pid, std::move(output->first), std::move(error->first)};
}

std::vector<std::string> own_environment() {
  std::vector<std::string> all;
  for (char** variable = environ; *variable != nullptr; ++variable) all.emplace_back(*variable);
  return all;
}

bool become_subreaper() {
  return ::prctl(PR_SET_CHILD_SUBREAPER, 1) == 0;
}

bool kill_group(pid_t group, int signal) {
  // 0 and 1 would mean our own group and all processes.
  return group > 1 && ::kill(-group, signal) == 0;
}

namespace {

bool is_known(pid_t pid, const std::vector<pid_t>& known) {
  return std::find(known.begin(), known.end(), pid) != known.end();
}

// A group of its own ends with it; one that it shares may be a stranger's.
bool kill_stray(pid_t pid, const ProcessStat& stat) {
  if (stat.group != ::getpgrp()) kill_group(stat.group, SIGKILL);
  return ::kill(pid, SIGKILL) == 0;
}

}  // namespace

std::size_t kill_strays(const std::vector<pid_t>& known) {
  std::size_t killed = 0;
  const pid_t self = ::getpid();
  for_each_process([&](pid_t pid) {
    const auto stat = process_stat(pid);
    const bool ours = stat && stat->parent == self && !stat->zombie && !is_known(pid, known);
    if (ours && kill_stray(pid, *stat)) ++killed;
    return true;
  });
  return killed;
}

std::string kill_stray_above(pid_t process, const std::vector<pid_t>& known) {
  for (int step = 0; step < kAncestorsMax && process > 1; ++step) {
    const auto stat = process_stat(process);
    if (!stat || stat->zombie || is_known(process, known)) return {};
    if (stat->parent == ::getpid()) return kill_stray(process, *stat) ? stat->name : std::string{};
    process = stat->parent;
  }
  return {};
}

std::string kill_stray_with(const std::string& variable, const std::vector<pid_t>& known) {
  const std::string wanted = std::string{'\0'} + variable + '\0';
  std::string found;
  for (const pid_t child : children_of(::getpid())) {
    if (is_known(child, known)) continue;
    const auto stat = process_stat(child);
    if (!stat || stat->zombie) continue;
    auto environment =
        read_small_file("/proc/" + std::to_string(child) + "/environ", kEnvironBytesMax);
    if (!environment) continue;
    environment->insert(environment->begin(), '\0');
    if (environment->find(wanted) == std::string::npos) continue;
    if (found.empty()) found = stat->name;
    kill_stray(child, *stat);
  }
  return found;
}

std::string ExitStatus::text() const {
  if (exit_code) return fmt::format("exit code {}", *exit_code);
  if (signal) return fmt::format("signal {} ({})", *signal, ::strsignal(*signal));
  return "unknown end";
}

}  // namespace sluice::local
