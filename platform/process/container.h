#pragma once

#include "common/base/result.h"
#include "common/loop/loop.h"
#include "common/time/clock.h"

#include "platform/process/backoff.h"
#include "platform/process/child.h"
#include "platform/process/command_run.h"
#include "platform/process/listeners.h"
#include "platform/process/service_spec.h"
#include "platform/process/unique_fd.h"
#include "platform/process/volumes.h"
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

// Programs of images. A container runtime (podman or docker) runs each in the foreground as a child
// of ours, so that output, signals and the exit code pass through it; what it does beside that is
// asked of it in commands of their own.

namespace sluice::local {

/// What the containers of one engine are run by, and known by.
struct ContainerHost {
  std::filesystem::path runtime;  ///< podman or docker; empty: there is none
  std::string engine;             ///< the beginning of their names
  std::string owner;              ///< the value of their label, unique on the machine
};

/// One container to run.
struct ContainerPlan {
  ContainerHost host;
  std::string name;  ///< `sluice-app-app-00001-1`
  ProgramSpec program;
  std::vector<std::string> arguments;    ///< of the image, expanded
  std::vector<std::string> environment;  ///< of its program, `NAME=value`
  std::vector<std::string> ours;         ///< of the runtime's own processes
  std::uint16_t port = 0;                ///< on 127.0.0.1 of this machine; 0: nothing is published
  std::uint16_t inner_port = 0;          ///< the same in the container
  std::vector<MountPlace> mounts;
  std::vector<std::string> read_only;  ///< paths in the container
  std::vector<int> cpus = {};          ///< cores that it may use; empty: all
  std::optional<double> cpu_limit;
  std::optional<std::int64_t> memory_limit;
  std::filesystem::path id_file;   ///< written by the runtime once there is a container
  std::filesystem::path pid_file;  ///< with the number of its first process; by podman only
  std::filesystem::path
      env_file;  ///< of `environment`: what is on a command line can be seen by all
};

/// The command line of the runtime for `plan`.
[[nodiscard]] std::vector<std::string> run_command(const ContainerPlan& plan);

/// Whether the text of a /proc/<pid>/cgroup is that of a process in the container `id`.
[[nodiscard]] bool is_in_container(std::string_view cgroup, std::string_view id);

/// One container, from the start of the runtime that runs it until nothing is left of it.
class Container {
 public:
  /// What the runtime says of a container whose program has ended.
  struct Ended {
    bool was_run = true;  ///< false: the runtime did not get so far
    bool out_of_memory = false;
  };

  /// All but `plan` outlive this.
  Container(boost::asio::io_context& io, Loop& loop, Reaper& reaper, Spawner& spawner,
            ContainerPlan plan);
  ~Container();
  Container(const Container&) = delete;
  Container& operator=(const Container&) = delete;

  /// What to start, with its files written. What this starts is followed by ended() or remove().
  [[nodiscard]] Result<SpawnSpec, Problem> prepare();

  /// Where its programs listen, and whether the port that is published reaches one.
  [[nodiscard]] Listening listening();

  /// The runtime has made it: its image is there.
  [[nodiscard]] bool is_made() const { return !id().empty(); }

  /// Since when its program is seen to run; absent: not yet, or its process cannot be
  /// found.
  [[nodiscard]] std::optional<TimePoint> seen_since();

  /// Memory of its programs that is in RAM; 0 before they run.
  [[nodiscard]] std::int64_t memory_bytes();

  /// A command inside of it.
  [[nodiscard]] Result<SpawnSpec, Problem> inside(const std::vector<std::string>& command) const;

  /// SIGKILL to its program. False: there is no container yet.
  bool kill();

  /// The runtime has ended by itself. `seen` is called with how the program did, then the container
  /// is removed; both from the loop.
  void ended(std::function<void(const Ended&)> seen, std::function<void()> removed);

  /// The runtime has ended, because it was to. Removes the container, then `removed` is called from
  /// the loop. Where that fails it is tried again after 0.5 s, 1, 2 … 30 s for as long as this
  /// lives: another container cannot have its name, and what is in it may still run.
  void remove(std::function<void()> removed);

  /// Nothing is left of it.
  [[nodiscard]] bool gone() const { return gone_; }

  [[nodiscard]] const ContainerPlan& plan() const { return plan_; }

 private:
  [[nodiscard]] const std::string& id() const;
  [[nodiscard]] pid_t process();
  void remove_if_there(std::function<void()> removed);
  void remove_made(std::function<void()> removed);
  [[nodiscard]] SpawnSpec runtime_command(std::vector<std::string> words) const;

  Loop& loop_;
  ContainerPlan plan_;
  mutable std::string id_;  // once its file is there
  pid_t process_ = -1;      // the first of its programs, once it was found
  std::optional<TimePoint> looked_;
  std::optional<TimePoint> seen_since_;
  bool gone_ = true;
  StartBackoff removals_;  // that have failed
  std::unique_ptr<Timer> again_;
  CommandRun command_;
};

/// Notes in `file`, once, that an engine runs containers with this host.
void note_containers(const std::filesystem::path& file, const ContainerHost& host);

/// The note of an engine, to be removed by; empty: there is none.
[[nodiscard]] UniqueFd open_note(const std::filesystem::path& file);

/// Removes what `note`, which is `file` opened, notes and is still there, and the file with it
/// unless more may come; the names of the containers that were there. One at a time does so for a
/// note, and none once it is gone, so that no container of a later engine is removed. Takes 20 s at
/// most, and as long before if another one is at it.
std::vector<std::string> remove_noted_containers(const Clock& clock, const UniqueFd& note,
                                                 const std::filesystem::path& file,
                                                 const std::vector<std::string>& environment,
                                                 bool keep_note = false);

}  // namespace sluice::local
