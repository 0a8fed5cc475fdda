#include "platform/process/running_program.h"

#include <fmt/format.h>

#include "platform/process/proc_files.h"
#include "platform/process/replica_programs.h"
#include <csignal>
#include <utility>

namespace sluice::local {
namespace {

constexpr std::size_t kTailLines = 5;
/// Within which an image is fetched.
constexpr std::chrono::minutes kFetchLimit{10};
/// A runtime whose container was killed ends within this time.
constexpr std::chrono::seconds kRuntimeGrace{5};
/// After which a connection is believed where the processes of containers cannot be seen.
constexpr std::chrono::seconds kUnseenTrust{3};

}  // namespace

RunningProgram::RunningProgram(boost::asio::io_context& io, Loop& loop, Reaper& reaper,
                               Spawner& spawner, const ReplicaPlan& plan, ProgramSpec program)
    : io_{io},
      loop_{loop},
      reaper_{reaper},
      spawner_{spawner},
      plan_{plan},
      program_{std::move(program)},
      kill_timer_{loop.timer()} {}

RunningProgram::~RunningProgram() {
  token_.end();
  if (!alive_) return;
  kill_group(pid_, SIGKILL);
  reaper_.unwatch(pid_);
}

Result<SpawnSpec, Problem> RunningProgram::prepare() {
  const Variables variables = variables_of(plan_, program_);
  if (!program_.image.empty()) {
    container_ = std::make_unique<Container>(io_, loop_, reaper_, spawner_,
                                             container_of(plan_, program_, variables));
    return container_->prepare();
  }
  if (program_.name.empty()) return program_spawn(plan_, program_, plan_.program, variables);
  const auto file = find_program_of(program_);
  if (!file) return file.error();
  return program_spawn(plan_, program_, *file, variables);
}

std::optional<Problem> RunningProgram::start(Events events) {
  events_ = std::move(events);
  const auto wanted = prepare();
  if (!wanted) {
    container_.reset();  // there is none
    return wanted.error();
  }
  starting_ = true;
  spawner_.start(*wanted, token_.watch(),
                 [this](Result<Child, Problem> child) { on_started(std::move(child)); });
  return std::nullopt;
}

void RunningProgram::on_started(Result<Child, Problem> child) {
  starting_ = false;
  if (!child) {
    container_.reset();
    return events_.not_started(child.error());
  }
  begun_ = loop_.now();
  pid_ = child->pid;
  alive_ = true;
  reaper_.watch(pid_, [this, alive = token_.watch()](const ExitStatus& status) {
    if (!alive.over()) on_end(status);
  });
  const auto read = [this](UniqueFd pipe, OutputSource source) {
    return std::make_unique<OutputReader>(
        io_, std::move(pipe), [this, source](std::string_view line) { take_line(source, line); });
  };
  output_ = {read(std::move(child->stdout_end), OutputSource::app_stdout),
             read(std::move(child->stderr_end), OutputSource::app_stderr)};
  // It was to stop before it ran.
  if (stopping_) return kill();
  events_.started();
}

void RunningProgram::take_line(OutputSource source, std::string_view line) {
  if (source == OutputSource::app_stderr) {
    tail_.emplace_back(line);
    if (tail_.size() > kTailLines) tail_.pop_front();
  }
  events_.output(source, line);
}

void RunningProgram::on_end(const ExitStatus& status) {
  alive_ = false;
  kill_timer_->cancel();
  for (const auto& reader : output_) reader->drain();
  const auto gone = [this, alive = token_.watch()] {
    if (!alive.over()) events_.gone();
  };
  if (stopping_) {
    if (container_) container_->remove(gone);
    return events_.ended({});
  }
  if (!container_) {
    return events_.ended(sight_of_end(plan_, status, last_errors(), reaper_.watched()));
  }
  events_.ending();
  container_->ended(
      [this, alive = token_.watch(), status](const Container::Ended& seen) {
        if (alive.over()) return;
        events_.ended(sight_of_container(container_->plan(), status, seen, last_errors()));
      },
      gone);
}

void RunningProgram::terminate() {
  stopping_ = true;
  if (!alive_) return;
  kill_group(pid_, SIGTERM);
  if (held_) hold(false);
}

void RunningProgram::hold(bool held) {
  if (!alive_ || in_container() || held_ == held) return;
  held_ = held;
  kill_group(pid_, held ? SIGSTOP : SIGCONT);
}

// A runtime that is killed leaves its container running.
void RunningProgram::kill() {
  stopping_ = true;
  if (!alive_) return;
  if (container_ && container_->kill()) {
    kill_timer_->after(kRuntimeGrace, [this] { kill_group(pid_, SIGKILL); });
  } else {
    kill_group(pid_, SIGKILL);
  }
}

std::uint16_t RunningProgram::own_port() const {
  return variables_of(plan_, program_).port;
}

Listening RunningProgram::listening() {
  return container_ ? container_->listening() : listening_of(pid_, own_port());
}

RunningProgram::Answering RunningProgram::answering() {
  if (container_) {
    // Runtimes may take a connection before the program in the container does.
    const bool unseen = !container_->seen_since() && loop_.now() - begun_ >= kUnseenTrust;
    return {.it_does = unseen || container_->listening().reachable};
  }
  if (group_listens(pid_, own_port())) return {.it_does = true};
  const auto holder = who_listens(own_port());
  // Closed between the probe and now, or changing hands inside the group: look again. Or the
  // program has left it to a process outside of the group, and its own end is still to be reported.
  const auto leader = process_stat(pid_);
  const bool ended = !leader || leader->zombie;
  if (!holder || holder->group == pid_ || ended) return {};
  Problem held = held_port(own_port(), holder);
  const bool chosen = plan_.spec.fixed_port.has_value();
  return {.taken = Cause{.kind = CauseKind::port_taken,
                         .what = std::move(held.what),
                         .fix = chosen ? std::move(held.fix) : "another one is tried"}};
}

std::optional<TimePoint> RunningProgram::runs_since() {
  if (!container_) return begun_;
  if (const auto seen = container_->seen_since()) return seen;
  // Its processes may not be seen; the container is made once the image is there.
  return container_->is_made() ? std::optional{loop_.now()} : std::nullopt;
}

std::optional<TimePoint> RunningProgram::due(Duration limit) {
  if (!container_) return std::nullopt;
  const auto begun = container_->seen_since();
  return begun ? *begun + limit : begun_ + kFetchLimit;
}

Result<SpawnSpec, Problem> RunningProgram::beside(const std::vector<std::string>& command) const {
  return container_ ? container_->inside(command) : local::beside(plan_, program_, command);
}

std::int64_t RunningProgram::memory_bytes() {
  if (!alive_) return 0;
  if (container_) return container_->memory_bytes();
  // A group that was made later does not count what was there before.
  if (plan_.has_cgroup()) {
    if (const auto bytes = plan_.cgroups->memory_bytes(plan_.id)) return *bytes;
  }
  return resident_bytes_of_group(pid_);
}

}  // namespace sluice::local
