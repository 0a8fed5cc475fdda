#pragma once

#include "common/base/lifetime.h"
#include "common/loop/loop.h"

#include "platform/process/cause.h"
#include "platform/process/child.h"
#include "platform/process/container.h"
#include "platform/process/listeners.h"
#include "platform/process/output_reader.h"
#include "platform/process/replica.h"
#include "platform/process/spawner.h"
#include <array>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::local {

/// One program of a replica, its app or an init container, from its start until nothing is left of
/// it: a child of ours or, of an image, a container and the child that runs it.
class RunningProgram {
 public:
  /// All calls come from the loop.
  struct Events {
    std::function<void()> started;  ///< it runs; not after terminate() or kill()
    std::function<void(const Problem& why)>
        not_started;  ///< it could not be run: the only call then
    std::function<void(OutputSource source, std::string_view line)> output;
    std::function<void()> ending;  ///< its container's program has ended; why is asked
    std::function<void(const EndSight& seen)>
        ended;                   ///< `seen` is empty after terminate() or kill()
    std::function<void()> gone;  ///< after `ended`, when its container is removed
  };

  /// Who answers at the port of the replica.
  struct Answering {
    bool it_does = false;
    std::optional<Cause> taken{};  ///< another program does
  };

  /// All but `program` outlive this.
  RunningProgram(boost::asio::io_context& io, Loop& loop, Reaper& reaper, Spawner& spawner,
                 const ReplicaPlan& plan, ProgramSpec program);
  /// Kills what is left, without a call. A container stays, for remove_noted_containers().
  ~RunningProgram();
  RunningProgram(const RunningProgram&) = delete;
  RunningProgram& operator=(const RunningProgram&) = delete;

  /// With a problem no event follows.
  [[nodiscard]] std::optional<Problem> start(Events events);

  /// SIGTERM; SIGKILL to what has only just been started.
  void terminate();

  /// SIGKILL.
  void kill();

  /// Stops the processes of its group, or lets them run on; terminate() does that too. Not of one
  /// in a container.
  void hold(bool held);

  /// The leader of its process group, or the runtime of its container; -1 until it runs.
  [[nodiscard]] pid_t pid() const { return pid_; }

  [[nodiscard]] bool alive() const { return alive_; }

  /// Neither it nor a container of it is there.
  [[nodiscard]] bool gone() const {
    return !starting_ && !alive_ && (!container_ || container_->gone());
  }

  [[nodiscard]] bool in_container() const { return container_ != nullptr; }

  /// The port at which it should listen, in its own network.
  [[nodiscard]] std::uint16_t own_port() const;

  [[nodiscard]] Listening listening();

  /// Asked when a connection to the port of the replica was accepted.
  [[nodiscard]] Answering answering();

  /// Since when its program runs; absent: its image is still fetched.
  [[nodiscard]] std::optional<TimePoint> runs_since();

  /// Of an image: when it has to be ready if it is given `limit`, for the time to fetch the image
  /// is not its own.
  [[nodiscard]] std::optional<TimePoint> due(Duration limit);

  /// How a command is started beside it, or in its container.
  [[nodiscard]] Result<SpawnSpec, Problem> beside(const std::vector<std::string>& command) const;

  /// Its control group's, else that of its processes in RAM.
  [[nodiscard]] std::int64_t memory_bytes();

  /// Its last error lines, at most five.
  [[nodiscard]] std::vector<std::string> last_errors() const {
    return {tail_.begin(), tail_.end()};
  }

 private:
  [[nodiscard]] Result<SpawnSpec, Problem> prepare();
  void on_started(Result<Child, Problem> child);
  void take_line(OutputSource source, std::string_view line);
  void on_end(const ExitStatus& status);

  boost::asio::io_context& io_;
  Loop& loop_;
  Reaper& reaper_;
  Spawner& spawner_;
  const ReplicaPlan& plan_;
  ProgramSpec program_;
  Events events_;
  std::unique_ptr<Container> container_;  // null: it is a child of ours itself
  TimePoint begun_{};
  pid_t pid_ = -1;
  bool starting_ = false;  // the spawner has not answered yet
  bool alive_ = false;
  bool stopping_ = false;
  bool held_ = false;
  std::deque<std::string> tail_;
  std::array<std::unique_ptr<OutputReader>, 2> output_;
  std::unique_ptr<Timer> kill_timer_;  // of the runtime, once its container was killed
  Lifetime token_;
};

}  // namespace sluice::local
