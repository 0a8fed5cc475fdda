// A replica is two processes and one small state machine. Whatever happens, the end is the same
// path: terminate() ends the app, then the sidecar, and finish() tells the owner once both are
// gone. Handlers hold a weak token of the replica: after its end they do nothing.

#include "platform/process/replica.h"

#include "common/base/lifetime.h"

#include <boost/asio/io_context.hpp>
#include <fmt/format.h>

#include "platform/process/health_watch.h"
#include "platform/process/proc_files.h"
#include "platform/process/program_output.h"
#include "platform/process/ready_line.h"
#include "platform/process/replica_programs.h"
#include "platform/process/sidecar.h"
#include "platform/process/start_watch.h"
#include <algorithm>
#include <csignal>
#include <functional>
#include <memory>

namespace sluice::local {
namespace asio = boost::asio;

namespace {

/// How long a sidecar without an app may take to end.
constexpr std::chrono::seconds kSidecarGrace{2};
/// Between questions that the sidecar did not hold: a probe with a period is answered at once.
constexpr std::chrono::milliseconds kAskAgain{50};

Cause cannot_start(const Problem& problem) {
  return {.kind = CauseKind::cannot_start, .what = problem.what, .fix = problem.fix};
}

}  // namespace

struct ChildReplica::Impl {
  Impl(asio::io_context& io_in, Loop& loop_in, Reaper& reaper_in, Spawner& spawner_in,
       ReplicaOwner& owner_in, Replica& self_in, ReplicaPlan plan_in)
      : io(io_in),
        loop(loop_in),
        reaper(reaper_in),
        spawner(spawner_in),
        owner(owner_in),
        self(self_in),
        plan(std::move(plan_in)),
        output(io, [this](OutputSource source,
                          std::string_view line) { owner.on_output(self, source, line); }),
        ready_line(io),
        start_timer(loop.timer()),
        watch(
            loop, [this](const Cause& cause) { owner.on_waiting(self, cause); },
            [this](const Cause& cause) { owner.on_settled_elsewhere(self, cause); }),
        ask_timer(loop.timer()),
        health(io, loop),
        stop_timer(loop.timer()) {}

  asio::io_context& io;  // these five outlive the replica (replica.h)
  Loop& loop;
  Reaper& reaper;
  Spawner& spawner;
  ReplicaOwner& owner;
  Replica& self;
  ReplicaPlan plan;

  ReplicaState state = ReplicaState::created;
  ReplicaTimes times;
  SidecarSockets sockets;
  pid_t app = -1;
  pid_t sidecar = -1;
  bool app_alive = false;
  bool sidecar_alive = false;
  int spawning = 0;  // programs that the spawner has not answered for yet
  bool finished = false;
  bool released = false;
  ProgramOutput output;
  ReadyLine ready_line;
  std::optional<SidecarProbe> probe;
  std::unique_ptr<Timer> start_timer;
  StartWatch watch;
  std::unique_ptr<Timer> ask_timer;
  HealthWatch health;
  std::unique_ptr<Timer> stop_timer;
  std::size_t init_done = 0;     // of plan.spec.init; until then `app` is one of them
  std::optional<TimePoint> run;  // since when the app itself runs
  Lifetime token;

  [[nodiscard]] bool in_init() const { return init_done < plan.spec.init.size(); }

  [[nodiscard]] Variables variables() const {
    return {plan.port.port(), plan.spec.name, plan.revision};
  }

  /// Runs `action` from the loop unless the replica is gone by then.
  template <class Action>
  void later(Action action) {
    loop.post([alive = token.watch(), action = std::move(action)] {
      if (!alive.over()) action();
    });
  }

  // Start.

  void start() {
    if (state != ReplicaState::created) return;
    state = ReplicaState::starting;
    times.created = loop.now();
    if (const auto problem = launch()) {
      later([this, why = cannot_start(*problem)] { fail_with(why); });
      return;
    }
    start_timer->after(plan.spec.start_timeout, [this] { start_timed_out(); });
  }

  std::optional<Problem> launch() {
    const auto names = sidecar_sockets(plan.directory);
    if (!names) return names.error();
    sockets = *names;
    if (auto problem = make_directory_of(plan, sockets)) return problem;
    // The sidecar first: with an app that is quick to listen, it is the one waited for.
    if (auto problem = launch_sidecar()) return problem;
    return launch_next();
  }

  // The next init container, or the app once all have ended.
  std::optional<Problem> launch_next() {
    if (in_init()) {
      const ProgramSpec& init = plan.spec.init[init_done];
      const auto program = find_init_program(init);
      return program ? launch_program(init, *program) : program.error();
    }
    return launch_program(plan.spec.app(), plan.program);
  }

  void app_runs() {
    times.executed = run = loop.now();
    watch.begin(app,
                {.port = plan.port.port(),
                 .fixed_port = plan.spec.fixed_port.has_value(),
                 .container_port =
                     plan.spec.fixed_port ? std::uint16_t{0} : plan.spec.container_port.value_or(0),
                 .in_startup = plan.spec.startup.has_value()},
                plan.look_interval);
    ask_startup();
  }

  std::optional<Problem> launch_program(const ProgramSpec& program,
                                        const std::filesystem::path& file) {
    const auto wanted = program_spawn(plan, program, file, variables());
    if (!wanted) return wanted.error();
    start_child(*wanted, [this](Child child) { app_started(std::move(child)); });
    return std::nullopt;
  }

  /// `started` gets the child, which is to be watched at once.
  void start_child(const SpawnSpec& spec, std::function<void(Child)> started) {
    ++spawning;
    spawner.start(spec, [this, alive = token.watch(),
                         started = std::move(started)](Result<Child, Problem> child) {
      if (alive.over()) {
        if (child) kill_group(child->pid, SIGKILL);
        return;
      }
      --spawning;
      if (child) return started(std::move(*child));
      if (state == ReplicaState::starting) return fail_with(cannot_start(child.error()));
      terminate();
    });
  }

  void app_started(Child child) {
    app = child.pid;
    app_alive = true;
    reaper.watch(app, [this, alive = token.watch()](ExitStatus status) {
      if (!alive.over()) app_ended(status);
    });
    output.read(std::move(child.stdout_end), OutputSource::app_stdout);
    output.read(std::move(child.stderr_end), OutputSource::app_stderr);
    // It was to stop before it ran.
    if (state != ReplicaState::starting) {
      kill_group(app, SIGKILL);
      return;
    }
    if (!in_init()) app_runs();
    owner.on_launched(self);
  }

  std::optional<Problem> launch_sidecar() {
    auto pipe = make_pipe();
    if (!pipe) return pipe.error();
    ready_line.await(std::move(pipe->first), [this] {
      times.sidecar_up = loop.now();
      ask_startup();
    });
    const auto inherited = std::make_shared<UniqueFd>(std::move(pipe->second));
    start_child(sidecar_spawn(plan, sockets, inherited->get()),
                [this, inherited](Child child) { sidecar_started(std::move(child)); });
    return std::nullopt;
  }

  void sidecar_started(Child child) {
    sidecar = child.pid;
    sidecar_alive = true;
    reaper.watch(sidecar, [this, alive = token.watch()](ExitStatus status) {
      if (!alive.over()) sidecar_ended(status);
    });
    output.read(std::move(child.stdout_end), OutputSource::sidecar);
    output.read(std::move(child.stderr_end), OutputSource::sidecar);
    if (state != ReplicaState::starting) {
      kill_group(sidecar, SIGKILL);
      return;
    }
    probe.emplace(io, sockets.serving);
    owner.on_launched(self);
  }

  // Ready.

  // The sidecar is asked once it is there, the app runs and its startup probe has passed.
  void ask_startup() {
    if (state != ReplicaState::starting || !run || !times.sidecar_up) return;
    if (!plan.spec.startup) return ask();
    health.until_yes(
        *plan.spec.startup, plan.port.port(), *run,
        [this] {
          watch.started();
          ask();
        },
        [this](const std::string& why) {
          fail_with({.kind = CauseKind::startup_probe, .what = "startup probe failed: " + why});
        });
  }

  void ask_liveness() {
    if (!plan.spec.liveness) return;
    health.while_yes(*plan.spec.liveness, plan.port.port(), *run, [this](const std::string& why) {
      if (state != ReplicaState::ready) return;
      ReplicaEnd end;
      end.cause = {.kind = CauseKind::liveness_probe, .what = "liveness probe failed: " + why};
      left_after_ready(std::move(end));
    });
  }

  void ask() {
    if (state != ReplicaState::starting) return;
    probe->ask([this, asked = loop.now()](ProbeAnswer answer) {
      if (state != ReplicaState::starting) return;
      if (answer == ProbeAnswer::ready) return check_listener();
      ask_again(asked + kAskAgain - loop.now());
    });
  }

  void ask_again(Duration wait) {
    ask_timer->after(std::max(wait, Duration{0}), [this] { ask(); });
  }

  void check_listener() {
    const std::uint16_t port = plan.port.port();
    if (!group_listens(app, port)) {
      const auto holder = who_listens(port);
      // Closed between the probe and now, or changing hands inside the group: look again. Or the
      // app has left it to a process outside of the group, and its own end is still to be reported.
      const auto leader = process_stat(app);
      const bool ended = !leader || leader->zombie;
      if (!holder || holder->group == app || ended) return ask_again(kAskAgain);
      const std::string name = holder->pid > 0
                                   ? fmt::format("{} (pid {})", holder->name, holder->pid)
                                   : std::string("a process that cannot be seen");
      fail_with({.kind = CauseKind::port_taken,
                 .what = fmt::format("port {} is held by {}", port, name),
                 .fix = "stop it, or use another port"});
      return;
    }
    times.listening = times.ready = loop.now();
    state = ReplicaState::ready;
    cancel_start();
    ask_liveness();
    owner.on_ready(self);
  }

  void start_timed_out() {
    const Duration limit = plan.spec.start_timeout;
    fail_with(in_init() ? cause_of_init(plan.spec.init[init_done].name, limit)
                        : watch.timed_out(limit));
  }

  [[nodiscard]] Cause waits_for() const {
    if (in_init()) return cause_of_init(plan.spec.init[init_done].name, std::nullopt);
    return run ? watch.waits_for() : cause_of_wait({.port = plan.port.port()}, Duration{0});
  }

  // End.

  void fail(ReplicaEnd end) {
    if (state != ReplicaState::starting) return;
    state = ReplicaState::stopping;
    cancel_start();
    end.stderr_tail = output.tail();
    owner.on_start_failed(self, end);
    terminate();
  }

  void fail_with(Cause cause) {
    ReplicaEnd end;
    end.cause = std::move(cause);
    fail(std::move(end));
  }

  void left_after_ready(ReplicaEnd end) {
    state = ReplicaState::stopping;
    end.stderr_tail = output.tail();
    owner.on_exited_after_ready(self, end);
    terminate();
  }

  void app_ended(const ExitStatus& status) {
    app_alive = false;
    output.drain(false);
    if (state != ReplicaState::starting && state != ReplicaState::ready) return stop_sidecar();
    if (in_init() && status.exit_code == 0) return init_succeeded();
    ReplicaEnd end;
    end.exit_code = status.exit_code;
    end.signal = status.signal;
    end.cause = in_init() ? cause_of_init_end(plan.spec.init[init_done].name, sight_of(status))
                          : cause_of_end(sight_of(status));
    if (state == ReplicaState::starting) {
      // It cannot listen where another program does.
      const bool failed = run && status.exit_code.value_or(0) != 0;
      if (failed && who_listens(plan.port.port())) end.cause.kind = CauseKind::port_taken;
      return fail(std::move(end));
    }
    left_after_ready(std::move(end));
  }

  void init_succeeded() {
    output.next_program();
    ++init_done;
    if (const auto problem = launch_next()) fail_with(cannot_start(*problem));
  }

  [[nodiscard]] EndSight sight_of(const ExitStatus& status) const {
    return sight_of_end(plan, status, output.tail(), reaper.watched());
  }

  void sidecar_ended(const ExitStatus& status) {
    sidecar_alive = false;
    output.drain(true);
    if (state != ReplicaState::starting && state != ReplicaState::ready) return finish();
    ReplicaEnd end;
    end.cause = {.kind = CauseKind::sidecar,
                 .what = "its queue-proxy ended with " + status.text(),
                 .output = output.sidecar_line()};
    if (state == ReplicaState::starting) return fail(std::move(end));
    left_after_ready(std::move(end));
  }

  void stop() {
    if (state == ReplicaState::created) state = ReplicaState::gone;
    if (state != ReplicaState::starting && state != ReplicaState::ready) return;
    state = ReplicaState::stopping;
    cancel_start();
    terminate();
  }

  void terminate() {
    health.end();
    if (!app_alive) return stop_sidecar();
    kill_group(app, SIGTERM);
    stop_timer->after(plan.spec.stop_grace, [this] { kill_group(app, SIGKILL); });
  }

  void stop_sidecar() {
    if (!sidecar_alive) return finish();
    kill_group(sidecar, SIGTERM);
    stop_timer->after(kSidecarGrace, [this] { kill_group(sidecar, SIGKILL); });
  }

  void kill() {
    if (state == ReplicaState::created || state == ReplicaState::gone) return stop();
    state = ReplicaState::stopping;
    cancel_start();
    health.end();
    if (app_alive) kill_group(app, SIGKILL);
    if (sidecar_alive) kill_group(sidecar, SIGKILL);
    finish();
  }

  void cancel_start() {
    for (Timer* timer : {start_timer.get(), ask_timer.get()}) timer->cancel();
    watch.end();
    health.end();
    ready_line.close();
    probe.reset();
  }

  void finish() {
    if (app_alive || sidecar_alive || spawning > 0 || finished) return;
    finished = true;
    stop_timer->cancel();
    state = ReplicaState::gone;
    // Later, for a reader may be calling us now; and the owner may destroy the replica in there, so
    // nothing of ours is touched afterwards.
    later([this] {
      release();
      owner.on_stopped(self);
    });
  }

  void release() {
    if (std::exchange(released, true)) return;
    output.close();
    remove_directory_of(plan, sockets);
    if (plan.cgroups != nullptr) plan.cgroups->remove(plan.id);
  }
};

ChildReplica::ChildReplica(asio::io_context& io, Loop& loop, Reaper& reaper, Spawner& spawner,
                           ReplicaOwner& owner, ReplicaPlan plan)
    : impl_(std::make_unique<Impl>(io, loop, reaper, spawner, owner, *this, std::move(plan))) {}

ChildReplica::~ChildReplica() {
  impl_->token.end();
  for (const auto& [pid, alive] :
       {std::pair{impl_->app, impl_->app_alive}, {impl_->sidecar, impl_->sidecar_alive}}) {
    if (!alive) continue;
    kill_group(pid, SIGKILL);
    impl_->reaper.unwatch(pid);
  }
  if (impl_->times.created) impl_->release();
}

void ChildReplica::start() {
  impl_->start();
}

void ChildReplica::stop() {
  impl_->stop();
}

void ChildReplica::kill() {
  impl_->kill();
}

const std::string& ChildReplica::id() const {
  return impl_->plan.id;
}

std::uint16_t ChildReplica::port() const {
  return impl_->plan.port.port();
}

pid_t ChildReplica::app_pid() const {
  return impl_->app;
}

pid_t ChildReplica::sidecar_pid() const {
  return impl_->sidecar;
}

const ReplicaTimes& ChildReplica::times() const {
  return impl_->times;
}

std::filesystem::path ChildReplica::serving_socket() const {
  return impl_->sockets.serving;
}

std::filesystem::path ChildReplica::stats_socket() const {
  return impl_->sockets.stats;
}

Cause ChildReplica::waits_for() const {
  return impl_->waits_for();
}

std::int64_t ChildReplica::memory_bytes() const {
  if (!impl_->app_alive) return 0;
  // A group that was made later does not count what was there before.
  if (impl_->plan.cgroups != nullptr && impl_->plan.spec.is_limited()) {
    if (const auto bytes = impl_->plan.cgroups->memory_bytes(impl_->plan.id)) return *bytes;
  }
  return resident_bytes_of_group(impl_->app);
}

}  // namespace sluice::local
