#pragma once

#include "common/base/result.h"
#include "common/loop/loop.h"
#include "common/time/clock.h"

#include "platform/process/child.h"
#include "platform/process/spawner.h"
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace sluice::local {

/// How a command ended that was run for its answer.
struct CommandEnd {
  std::optional<int> exit_code;  ///< absent: a signal ended it, or it was not started
  bool in_time = true;
  bool was_started = true;  ///< false: other starts took all of the time
  std::string output;       ///< its standard output, at most 64 KiB of whole lines
  std::string last_error;   ///< the last line of its errors, or why it was not started

  [[nodiscard]] bool succeeded() const { return exit_code == 0; }

  /// `ended with exit code 3: no such table`.
  [[nodiscard]] std::string text() const;
};

/// Runs one command at a time, each for a limited time.
class CommandRun {
 public:
  using Done = std::function<void(const CommandEnd&)>;

  /// All of them outlive this.
  CommandRun(boost::asio::io_context& io, Loop& loop, Reaper& reaper, Spawner& spawner);
  CommandRun(const CommandRun&) = delete;
  CommandRun& operator=(const CommandRun&) = delete;
  /// As end().
  ~CommandRun();

  /// Starts the command; `done` is called once, from the loop and never within start(), at the
  /// latest a moment after `limit`, when the command is killed. One that still runs is ended first.
  void start(const Result<SpawnSpec, Problem>& command, Duration limit, Done done);

  [[nodiscard]] bool running() const;

  /// Kills what runs; its `done` is not called.
  void end();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Runs a command to its end before anything else happens, at most for `limit`, and returns its
/// output; absent: it was not started, did not succeed or was killed. For the beginning and the end
/// of a program, when no Reaper waits for children.
[[nodiscard]] std::optional<std::string> run_at_once(const Clock& clock, const SpawnSpec& command,
                                                     Duration limit);

}  // namespace sluice::local
