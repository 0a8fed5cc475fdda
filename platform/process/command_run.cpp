#include "platform/process/command_run.h"

#include "common/base/clean_text.h"
#include "common/base/lifetime.h"
#include "common/loop/asio_loop.h"

#include <boost/asio/io_context.hpp>
#include <fmt/format.h>

#include "platform/process/cause.h"
#include "platform/process/output_reader.h"
#include <csignal>
#include <utility>

namespace sluice::local {
namespace asio = boost::asio;

namespace {

constexpr std::size_t kCommandOutputMax = std::size_t{64} << 10;

}  // namespace

std::string CommandEnd::text() const {
  if (!in_time) return "did not end in time";
  const std::string how = exit_code ? fmt::format("ended with exit code {}", *exit_code)
                                    : std::string{"did not run to its end"};
  return last_error.empty() ? how : how + ": " + last_error;
}

struct CommandRun::Impl {
  Impl(asio::io_context& io_in, Loop& loop_in, Reaper& reaper_in, Spawner& spawner_in)
      : io{io_in}, loop{loop_in}, reaper{reaper_in}, spawner{spawner_in}, limit{loop_in.timer()} {}

  asio::io_context& io;  // these four outlive the run (command_run.h)
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

CommandRun::CommandRun(asio::io_context& io, Loop& loop, Reaper& reaper, Spawner& spawner)
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
  asio::io_context io;
  AsioLoop loop{io, clock};
  Reaper reaper{io};
  Spawner spawner{io, loop, reaper};
  CommandRun run{io, loop, reaper, spawner};
  CommandEnd seen;
  run.start(command, limit, [&](const CommandEnd& end) {
    seen = end;
    io.stop();
  });
  io.run();
  return seen.succeeded() ? std::optional{seen.output} : std::nullopt;
}

}  // namespace sluice::local
