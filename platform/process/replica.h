#pragma once

#include "common/base/result.h"
#include "common/loop/loop.h"

#include "platform/process/cause.h"
#include "platform/process/cgroup.h"
#include "platform/process/child.h"
#include "platform/process/container.h"
#include "platform/process/listeners.h"
#include "platform/process/ports.h"
#include "platform/process/service_spec.h"
#include "platform/process/spawner.h"
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::local {

class Replica;

/// What one replica is made of.
struct ReplicaPlan {
  ServiceSpec spec;
  std::string revision;  ///< `app-00001`
  std::string id;        ///< `app-00001-1`
  PortLease port;
  std::filesystem::path program;         ///< of the app, from find_program; not of an image
  ContainerHost containers;              ///< for a spec that needs_containers()
  std::filesystem::path sidecar;         ///< of a HeldProgram
  std::filesystem::path directory;       ///< r/<id> in the runtime directory; made, removed
  std::vector<std::string> environment;  ///< of the engine, `NAME=value`
  std::optional<std::uint64_t> open_files =
      {};                     ///< soft limit given to both: ours before we raised it
  Duration write_timeout{0};  ///< of the sidecar; 0 = off
  /// With the group of this one, if it has_cgroup(); outlives the replica. Null = no limits.
  const CgroupTree* cgroups = nullptr;
  /// How often is looked where it listens, until it is ready (5.3).
  Duration look_interval = std::chrono::milliseconds{900};
  std::string place = {};      ///< the group of the machine that it runs in; empty: none
  bool place_limited = false;  ///< that one has limits, and `cgroups` are those in it
  std::vector<int> cpus = {};  ///< cores that its programs may use; empty: all

  /// Whether its programs of this machine have a control group.
  [[nodiscard]] bool has_cgroup() const {
    return cgroups != nullptr && (spec.is_limited() || (place_limited && spec.image.empty()));
  }
};

enum class ReplicaState { created, starting, ready, stopping, gone };

/// Why a replica ended without having been stopped.
struct ReplicaEnd {
  std::optional<int> exit_code;  ///< of the app, when it exited
  std::optional<int> signal;     ///< that ended the app
  Cause cause{};
  std::vector<std::string> stderr_tail;  ///< the app's last error lines, at most five
};

/// When a replica reached each step; for the cold-start record. Unset: not reached.
struct ReplicaTimes {
  std::optional<TimePoint> created;     ///< start() was called
  std::optional<TimePoint> executed;    ///< both programs run
  std::optional<TimePoint> sidecar_up;  ///< the sidecar's listeners are bound
  std::optional<TimePoint> listening;   ///< the sidecar's probe passed
  std::optional<TimePoint> ready;       ///< the listener was found to be the app's
};

enum class OutputSource { app_stdout, app_stderr, sidecar };

/// Gets the events of replicas. All calls come from the loop, never from within a call into the
/// replica. The replica may be destroyed only in on_stopped or later.
class ReplicaOwner {
 public:
  ReplicaOwner() = default;
  ReplicaOwner(const ReplicaOwner&) = delete;
  ReplicaOwner& operator=(const ReplicaOwner&) = delete;
  virtual ~ReplicaOwner() = default;

  virtual void on_ready(Replica& replica) = 0;
  /// Another program of it runs: its sidecar, an init container or the app. Its journal has to have
  /// it.
  virtual void on_launched(Replica& replica) = 0;
  /// It ended, or ran out of time, before it was ready. on_stopped follows when all of it is gone.
  virtual void on_start_failed(Replica& replica, const ReplicaEnd& end) = 0;
  /// The app or its sidecar ended by itself after being ready. on_stopped follows.
  virtual void on_exited_after_ready(Replica& replica, const ReplicaEnd& end) = 0;
  /// No process of it is left. Always the last call, exactly once per started replica.
  virtual void on_stopped(Replica& replica) = 0;
  /// One line of output without its line end, at most 16 KiB.
  virtual void on_output(Replica& replica, OutputSource source, std::string_view line) = 0;
  /// It is not ready, and why is worth a line: it listens in the wrong place, or has been silent
  /// for ten seconds. Once for each cause.
  virtual void on_waiting(Replica& replica, const Cause& cause) = 0;
  /// It has settled in the wrong place (Settling): nothing that waits for it is likely to be
  /// served.
  virtual void on_settled_elsewhere(Replica& replica, const Cause& cause) = 0;
};

/// One app process with its sidecar, from start to end (one-machine.md 5.1 to 5.6). When to start
/// and stop is the owner's business; a replica that fails to start stops itself.
class Replica {
 public:
  Replica() = default;
  Replica(const Replica&) = delete;
  Replica& operator=(const Replica&) = delete;
  virtual ~Replica() = default;

  /// Starts app and sidecar together. Every failure, also an immediate one, comes as a callback.
  virtual void start() = 0;

  /// SIGTERM to the app's group, SIGKILL after stop-grace, then the sidecar ends (5.6). The caller
  /// has seen to it that no request is in flight.
  virtual void stop() = 0;

  /// SIGKILL to everything now.
  virtual void kill() = 0;

  /// Stops the processes of the app's group (SIGSTOP), or lets them run on. Its sidecar drops the
  /// connections to it, which the app may close as soon as it runs on. Only while it is ready, and
  /// not of an image.
  virtual void hold(bool held) = 0;

  [[nodiscard]] virtual const std::string& id() const = 0;
  [[nodiscard]] virtual std::uint16_t port() const = 0;
  /// -1 before the start, at first of its init containers; also the group id. Of an image: the
  /// runtime's.
  [[nodiscard]] virtual pid_t app_pid() const = 0;
  [[nodiscard]] virtual pid_t sidecar_pid() const = 0;  ///< -1 before the start
  [[nodiscard]] virtual const ReplicaTimes& times() const = 0;
  [[nodiscard]] virtual std::filesystem::path serving_socket() const = 0;
  [[nodiscard]] virtual std::filesystem::path stats_socket() const = 0;
  /// Why it is not ready yet, as it is seen now.
  [[nodiscard]] virtual Cause waits_for() const = 0;

  /// Memory of the app: its cgroup's, else the resident sizes of its group.
  [[nodiscard]] virtual std::int64_t memory_bytes() const = 0;
};

/// A replica of real processes.
class ChildReplica final : public Replica {
 public:
  /// All but `plan` outlive the replica.
  ChildReplica(boost::asio::io_context& io, Loop& loop, Reaper& reaper, Spawner& spawner,
               ReplicaOwner& owner, ReplicaPlan plan);
  /// Kills what is left, without a callback.
  ~ChildReplica() override;
  ChildReplica(const ChildReplica&) = delete;
  ChildReplica& operator=(const ChildReplica&) = delete;

  void start() override;
  void stop() override;
  void kill() override;
  void hold(bool held) override;
  [[nodiscard]] const std::string& id() const override;
  [[nodiscard]] std::uint16_t port() const override;
  [[nodiscard]] pid_t app_pid() const override;
  [[nodiscard]] pid_t sidecar_pid() const override;
  [[nodiscard]] const ReplicaTimes& times() const override;
  [[nodiscard]] std::filesystem::path serving_socket() const override;
  [[nodiscard]] std::filesystem::path stats_socket() const override;
  [[nodiscard]] Cause waits_for() const override;
  [[nodiscard]] std::int64_t memory_bytes() const override;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace sluice::local
