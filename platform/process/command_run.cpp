#include "platform/process/command_run.h"

#include "common/base/clean_text.h"
#include "common/base/lifetime.h"

#include <boost/asio/io_context.hpp>
#include <fmt/format.h>

#include "platform/process/cause.h"
#include "platform/process/output_reader.h"
#include <array>
#include <cerrno>
#include <csignal>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

namespace sluice::local {
namespace {

constexpr std::size_t kCommandOutputMax = 4096;
constexpr std::size_t kAtOnceOutputMax = std::size_t{1} << 20;

}  // namespace

std::string CommandEnd::text() const {
  if (!in_time) return "did not end in time";
  const std::string how = exit_code ? fmt::format("ended with exit code {}", *exit_code)
                                    : std::string{"did not run to its end"};
  return last_error.empty() ? how : how + ": " + last_error;
}

struct CommandRun::Impl {
  Impl(boost::asio::io_context& io_in, Loop& loop_in, Reaper& reaper_in, Spawner& spawner_in)
      : io{io_in}, loop{loop_in}, reaper{reaper_in}, spawner{spawner_in}, limit{loop_in.timer()} {}

  boost::asio::io_context& io;  // these four outlive the run (command_run.h)
  Loop& loop;
  Reaper& reaper;
  Spawner& spawner;
  std::unique_ptr<Timer> limit;
  pid_t pid = -1;
  CommandEnd seen;
  Done done;  // empty: nothing runs
  std::unique_ptr<OutputReader> output;
  std::unique_ptr<OutputReader> error;
  std::optional<Lifetime> run;  // of the present command

  void start(const Result<SpawnSpec, Problem>& command, Duration most, Done callback) {
    end();
    run.emplace();
    seen = {};
    done = std::move(callback);
    if (!command) {
      seen.last_error = command.error().text();
      loop.post([this, alive = run->watch()] {
        if (!alive.over()) finish();
      });
      return;
    }
    spawner.start(*command, run->watch(),
                  [this](Result<Child, Problem> child) { started(std::move(child)); });
    limit->after(most, [this] {
      seen.in_time = false;
      seen.was_started = pid > 0;
      if (!seen.was_started) return finish();
      kill_group(pid, SIGKILL);
    });
  }

  void started(Result<Child, Problem> child) {
    if (!child) {
      seen.last_error = child.error().text();
      return finish();
    }
    pid = child->pid;
    output = std::make_unique<OutputReader>(io, std::move(child->stdout_end),
                                            [this](std::string_view line) { take(line); });
    error = std::make_unique<OutputReader>(io, std::move(child->stderr_end),
                                           [this](std::string_view line) {
                                             auto words = last_words({std::string{line}});
                                             if (!words.empty()) seen.last_error = std::move(words);
                                           });
    reaper.watch(pid, [this, alive = run->watch()](const ExitStatus& status) {
      if (alive.over()) return;
      pid = -1;
      for (const auto* reader : {&output, &error}) (*reader)->drain();
      seen.exit_code = status.exit_code;
      finish();
    });
  }

  void take(std::string_view line) {
    if (seen.output.size() + line.size() + 1 > kCommandOutputMax) return;
    seen.output += line;
    seen.output += '\n';
  }

  void finish() {
    const Done callback = std::exchange(done, nullptr);
    const CommandEnd how = std::exchange(seen, {});
    end();
    callback(how);  // it may start another, or destroy this
  }

  void end() {
    limit->cancel();
    run.reset();
    done = nullptr;
    output.reset();
    error.reset();
    if (pid <= 0) return;
    kill_group(pid, SIGKILL);
    reaper.unwatch(std::exchange(pid, -1));
  }
};

CommandRun::CommandRun(boost::asio::io_context& io, Loop& loop, Reaper& reaper, Spawner& spawner)
    : impl_{std::make_unique<Impl>(io, loop, reaper, spawner)} {}

CommandRun::~CommandRun() {
  impl_->end();
}

void CommandRun::start(const Result<SpawnSpec, Problem>& command, Duration limit, Done done) {
  impl_->start(command, limit, std::move(done));
}

bool CommandRun::running() const {
  return static_cast<bool>(impl_->done);
}

void CommandRun::end() {
  impl_->end();
}

std::optional<std::string> run_at_once(const Clock& clock, const SpawnSpec& command,
                                       Duration limit) {
  auto child = spawn(command);
  if (!child) return std::nullopt;
  const TimePoint ends = clock.now() + limit;
  std::array<pollfd, 2> pipes{pollfd{child->stdout_end.get(), POLLIN, 0},
                              pollfd{child->stderr_end.get(), POLLIN, 0}};
  std::string output;
  bool in_time = true;
  std::array<char, 4096> chunk{};
  while (in_time && (pipes[0].fd >= 0 || pipes[1].fd >= 0)) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(ends - clock.now());
    in_time = left.count() > 0;
    if (!in_time || ::poll(pipes.data(), pipes.size(), static_cast<int>(left.count())) <= 0)
      continue;
    for (pollfd& pipe : pipes) {
      if (pipe.fd < 0 || pipe.revents == 0) continue;
      const auto count = ::read(pipe.fd, chunk.data(), chunk.size());
      if (count < 0 && (errno == EAGAIN || errno == EINTR)) continue;
      if (count <= 0) {
        pipe.fd = -1;  // poll passes over it
      } else if (&pipe == pipes.data() && output.size() < kAtOnceOutputMax) {
        output.append(chunk.data(), static_cast<std::size_t>(count));
      }
    }
  }
  if (!in_time) kill_group(child->pid, SIGKILL);
  int status = 0;
  while (::waitpid(child->pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (!in_time || !WIFEXITED(status) || WEXITSTATUS(status) != 0) return std::nullopt;
  return output;
}

}  // namespace sluice::local
