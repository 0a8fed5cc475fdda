#pragma once

#include "common/base/result.h"

#include "platform/process/unique_fd.h"
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

namespace boost::asio {
class io_context;
}

namespace sluice::local {

/// A program to start. Nothing passes through a shell.
struct SpawnSpec {
  std::filesystem::path program;                   ///< as found by find_program
  std::vector<std::string> argv;                   ///< argv[0] included
  std::vector<std::string> env;                    ///< `NAME=value`, the whole environment
  std::filesystem::path cwd;                       ///< empty = ours
  std::vector<std::filesystem::path> cgroup_dirs;  ///< joined before the program runs
  std::vector<int> kept_fds;                       ///< stay open in the child under their numbers
  std::optional<std::uint64_t> open_files;         ///< soft limit of open files for the child
  bool outlives_us = false;    ///< in a session of its own, and no signal when the caller dies
  std::vector<int> cpus = {};  ///< cores that it may use; empty: those of the caller
};

/// A started program, leader of its own process group. Its output is ours to read.
struct Child {
  pid_t pid = -1;       ///< also the group id
  UniqueFd stdout_end;  ///< non-blocking
  UniqueFd stderr_end;  ///< non-blocking
};

/// Starts a program as one-machine.md 5.2 says: own process group, /dev/null as input, default
/// signals and mask, no other descriptor, SIGKILL when the calling thread dies. Returns once the
/// program runs; when it cannot, the problem names it and the system's reason.
[[nodiscard]] Result<Child, Problem> spawn(const SpawnSpec& spec);

/// The environment of this process, `NAME=value`.
[[nodiscard]] std::vector<std::string> own_environment();

/// Makes orphaned grandchildren ours to reap. False when the system refuses.
bool become_subreaper();

/// Signals every process of the group; false when there is none any more.
bool kill_group(pid_t group, int signal);

/// Kills (SIGKILL) the direct children that are not in `known`, with their groups: what left its
/// group by setsid and became ours. Returns how many.
std::size_t kill_strays(const std::vector<pid_t>& known);

/// Kills the direct children that are not in `known` and were started with `variable`,
/// `NAME=value`, in their environment, with their groups: what a program of ours left behind in a
/// session of its own. Returns the name of the first; empty: there was none.
std::string kill_stray_with(const std::string& variable, const std::vector<pid_t>& known);

/// Kills the direct child that `process` is or descends from, with its group, unless it is in
/// `known`: a program left behind that has written over its environment. Returns its name; empty:
/// there was none.
std::string kill_stray_above(pid_t process, const std::vector<pid_t>& known);

/// A pipe, both ends close-on-exec and above the standard three; `first` reads.
[[nodiscard]] Result<std::pair<UniqueFd, UniqueFd>, Problem> make_pipe();

/// How a process ended: exactly one of the two is set.
struct ExitStatus {
  std::optional<int> exit_code;
  std::optional<int> signal;
  /// The name of a process of its group that ran on when it ended with exit code 0; empty: none.
  std::string survivor{};

  /// `exit code 1` or `signal 9 (Killed)`.
  [[nodiscard]] std::string text() const;

  friend bool operator==(const ExitStatus&, const ExitStatus&) = default;
};

/// Waits for children of this process on SIGCHLD; one per process. What is left of the group of a
/// watched child is killed before the child is reaped, so the group id cannot have been reused.
/// Unwatched children (grandchildren reparented to us) are reaped without a report.
class Reaper {
 public:
  using Callback = std::function<void(ExitStatus)>;

  explicit Reaper(boost::asio::io_context& io);
  Reaper(const Reaper&) = delete;
  Reaper& operator=(const Reaper&) = delete;
  ~Reaper();

  /// Calls `callback` once, from the loop, when `pid` has ended. Call it in the turn of the spawn,
  /// or before the release() that goes with it.
  void watch(pid_t pid, Callback callback);

  /// Forgets the callback; the child is still reaped.
  void unwatch(pid_t pid);

  /// Until as many calls of release(), only watched children are reaped: one that was started in
  /// another thread may end before it is watched.
  void hold();
  void release();

  /// The children watched now.
  [[nodiscard]] std::vector<pid_t> watched() const;

  /// Stops listening for signals, so that the loop can end.
  void stop();

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace sluice::local
