// A replica is two processes and one small state machine. Whatever happens, the end is the same
// path: terminate() ends the app, then the sidecar, and finish() tells the owner once both are
// gone. Handlers hold a weak token of the replica: after its end they do nothing.

#include "platform/process/replica.h"

#include "common/base/lifetime.h"

#include <boost/asio/io_context.hpp>
#include <fmt/format.h>

#include "platform/process/health_watch.h"
#include "platform/process/output_reader.h"
#include "platform/process/ready_line.h"
#include "platform/process/replica_programs.h"
#include "platform/process/running_program.h"
#include "platform/process/sidecar.h"
#include "platform/process/start_watch.h"
#include <algorithm>
#include <array>
#include <csignal>

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
        ready_line(io),
        start_timer(loop.timer()),
        watch(
            loop, [this](const Cause& cause) { owner.on_waiting(self, cause); },
            [this](const Cause& cause) { owner.on_settled_elsewhere(self, cause); }),
        ask_timer(loop.timer()),
        health(
            io, loop, reaper, spawner,
            [this](const std::vector<std::string>& command) { return app()->beside(command); },
            [this](const std::string& why) { watch.probe_answered(why); }),
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
  pid_t last_app = -1;  // of the last of `programs`
  pid_t sidecar = -1;
  bool sidecar_alive = false;
  bool sidecar_spawning = false;
  bool finished = false;
  bool released = false;
  std::string sidecar_line;
  std::array<std::unique_ptr<OutputReader>, 2> sidecar_output;
  ReadyLine ready_line;
  std::optional<SidecarProbe> probe;
  std::unique_ptr<Timer> start_timer;
  StartWatch watch;
  std::unique_ptr<Timer> ask_timer;
  HealthWatch health;
  std::unique_ptr<Timer> stop_timer;
  std::vector<std::unique_ptr<RunningProgram>> programs;  // init containers, then the app
  std::size_t init_done = 0;                              // of plan.spec.init
  std::optional<TimePoint> run;                           // since when the app itself runs
  Lifetime token;

  [[nodiscard]] bool in_init() const { return init_done < plan.spec.init.size(); }

  // What runs, or ran last: the app, or before it an init container.
  [[nodiscard]] RunningProgram* app() const {
    return programs.empty() ? nullptr : programs.back().get();
  }

  [[nodiscard]] bool app_alive() const { return app() != nullptr && app()->alive(); }

  [[nodiscard]] std::vector<std::string> last_errors() const {
    return app() == nullptr ? std::vector<std::string>{} : app()->last_errors();
  }

  /// Runs `action` from the loop unless the replica is gone by then.
  template <class Action>
  void later(Action action) {
    loop.post([alive = token.watch(), action = std::move(action)] {
      if (!alive.over()) action();
    });
  }

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
    if (in_init()) return launch_program(plan.spec.init[init_done]);
    return launch_program(plan.spec.app());
  }

  void app_runs() {
    times.executed = run = loop.now();
    const bool in_container = app()->in_container();
    const bool looks_at_another = !plan.spec.fixed_port && !in_container;
    watch.begin([this] { return app()->listening(); },
                {.port = app()->own_port(),
                 .fixed_port = plan.spec.fixed_port.has_value(),
                 .container_port =
                     looks_at_another ? plan.spec.container_port.value_or(0) : std::uint16_t{0},
                 .in_startup = plan.spec.startup.has_value(),
                 .startup_is_command =
                     plan.spec.startup && plan.spec.startup->question.kind == ProbeKind::exec,
                 .readiness_is_command = plan.spec.probe.kind == ProbeKind::exec,
                 .in_container = in_container,
                 .begun = !in_container},
                plan.look_interval);
    ask_startup();
  }

  std::optional<Problem> launch_program(ProgramSpec program) {
    programs.push_back(
        std::make_unique<RunningProgram>(io, loop, reaper, spawner, plan, std::move(program)));
    return app()->start(
        {.started = [this] { app_started(); },
         .not_started = [this](const Problem& problem) { not_started(problem); },
         .output = [this](OutputSource source,
                          std::string_view line) { owner.on_output(self, source, line); },
         .ending = [this] { health.end(); },
         .ended = [this](const EndSight& seen) { app_ended(seen); },
         .gone = [this] { finish(); }});
  }

  void app_started() {
    last_app = app()->pid();
    if (!in_init()) app_runs();
    owner.on_launched(self);
  }

  void not_started(const Problem& problem) {
    if (state == ReplicaState::starting) return fail_with(cannot_start(problem));
    terminate();
  }

  std::optional<Problem> launch_sidecar() {
    auto pipe = make_pipe();
    if (!pipe) return pipe.error();
    ready_line.await(std::move(pipe->first), [this] {
      times.sidecar_up = loop.now();
      ask_startup();
    });
    sidecar_spawning = true;
    const auto inherited = std::make_shared<UniqueFd>(std::move(pipe->second));
    spawner.start(
        sidecar_spawn(plan, sockets, inherited->get()), token.watch(),
        [this, inherited](Result<Child, Problem> child) { sidecar_started(std::move(child)); });
    return std::nullopt;
  }

  void sidecar_started(Result<Child, Problem> child) {
    sidecar_spawning = false;
    if (!child) return not_started(child.error());
    sidecar = child->pid;
    sidecar_alive = true;
    reaper.watch(sidecar, [this, alive = token.watch()](ExitStatus status) {
      if (!alive.over()) sidecar_ended(status);
    });
    const auto read = [this](UniqueFd pipe_end) {
      return std::make_unique<OutputReader>(io, std::move(pipe_end), [this](std::string_view line) {
        sidecar_line = line;
        owner.on_output(self, OutputSource::sidecar, line);
      });
    };
    sidecar_output = {read(std::move(child->stdout_end)), read(std::move(child->stderr_end))};
    // It was to stop before it ran.
    if (state != ReplicaState::starting) {
      kill_group(sidecar, SIGKILL);
      return;
    }
    probe.emplace(io, sockets.serving);
    owner.on_launched(self);
  }

  // The sidecar is asked once it is there, the app runs and its startup probe has passed.
  void ask_startup() {
    if (state != ReplicaState::starting || !run || !times.sidecar_up) return;
    if (!plan.spec.startup) return begin_asking();
    // The time in which an image is fetched is not the program's.
    const auto since = app()->runs_since();
    if (!since) {
      ask_timer->after(kAskAgain, [this] { ask_startup(); });
      return;
    }
    health.until_yes(
        *plan.spec.startup, plan.port.port(), *since, [this] { begin_asking(); },
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

  // Its startup probe has passed, if it has one.
  void begin_asking() {
    watch.started();
    health.meanwhile(plan.spec.probe, plan.spec.h2c, plan.port.port());
    ask();
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
    RunningProgram::Answering who = app()->answering();
    if (who.taken) return fail_with(std::move(*who.taken));
    if (!who.it_does) return ask_again(kAskAgain);
    if (!times.listening) times.listening = loop.now();
    if (plan.spec.probe.kind != ProbeKind::exec) return ready();
    health.until_ready(plan.spec.probe, plan.port.port(), *run, [this] { ready(); });
  }

  void ready() {
    times.ready = loop.now();
    state = ReplicaState::ready;
    cancel_start();
    ask_liveness();
    owner.on_ready(self);
  }

  void start_timed_out() {
    const Duration limit = plan.spec.start_timeout;
    if (const auto due = app()->due(limit); due && loop.now() < *due) {
      start_timer->after(std::min(*due - loop.now(), limit), [this] { start_timed_out(); });
      return;
    }
    fail_with(in_init() ? cause_of_init(plan.spec.init[init_done].name, limit)
                        : watch.timed_out(limit));
  }

  [[nodiscard]] Cause waits_for() const {
    if (in_init()) return cause_of_init(plan.spec.init[init_done].name, std::nullopt);
    return run ? watch.waits_for() : cause_of_wait({.port = plan.port.port()}, Duration{0});
  }

  void fail(ReplicaEnd end) {
    if (state != ReplicaState::starting) return;
    state = ReplicaState::stopping;
    cancel_start();
    end.stderr_tail = last_errors();
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
    end.stderr_tail = last_errors();
    owner.on_exited_after_ready(self, end);
    terminate();
  }

  void app_ended(const EndSight& sight) {
    health.end();
    if (state != ReplicaState::starting && state != ReplicaState::ready) return stop_sidecar();
    if (in_init() && sight.exit_code == 0) return init_succeeded();
    ReplicaEnd end;
    end.exit_code = sight.exit_code;
    end.signal = sight.signal;
    end.cause =
        in_init() ? cause_of_init_end(plan.spec.init[init_done].name, sight) : cause_of_end(sight);
    if (state == ReplicaState::starting) {
      // It cannot listen where another program does.
      const bool failed = run && !app()->in_container() && sight.exit_code.value_or(0) != 0;
      if (failed && who_listens(plan.port.port())) end.cause.kind = CauseKind::port_taken;
      return fail(std::move(end));
    }
    left_after_ready(std::move(end));
  }

  void init_succeeded() {
    ++init_done;
    if (const auto problem = launch_next()) fail_with(cannot_start(*problem));
  }

  void sidecar_ended(const ExitStatus& status) {
    sidecar_alive = false;
    for (const auto& reader : sidecar_output) reader->drain();
    if (state != ReplicaState::starting && state != ReplicaState::ready) return finish();
    ReplicaEnd end;
    end.cause = {.kind = CauseKind::sidecar,
                 .what = "its queue-proxy ended with " + status.text(),
                 .output = sidecar_line};
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
    if (app() != nullptr) app()->terminate();
    if (!app_alive()) return stop_sidecar();
    stop_timer->after(plan.spec.stop_grace, [this] { app()->kill(); });
  }

  void stop_sidecar() {
    if (!sidecar_alive) return finish();
    kill_group(sidecar, SIGTERM);
    stop_timer->after(kSidecarGrace, [this] {
      if (sidecar_alive) kill_group(sidecar, SIGKILL);
    });
  }

  void kill() {
    if (state == ReplicaState::created || state == ReplicaState::gone) return stop();
    state = ReplicaState::stopping;
    cancel_start();
    health.end();
    if (app() != nullptr) app()->kill();
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
    const bool remains = std::any_of(programs.begin(), programs.end(),
                                     [](const auto& each) { return !each->gone(); });
    if (remains || sidecar_alive || sidecar_spawning || finished) return;
    if (state != ReplicaState::stopping) return;  // an init container was removed
    finished = true;
    stop_timer->cancel();
    state = ReplicaState::gone;
    leave();
  }

  // Later, for a reader may be calling us now, and in several turns where programs have left a lot;
  // the owner may destroy the replica in there, so nothing of ours is touched afterwards.
  void leave() {
    later([this] {
      if (!release()) return leave();
      owner.on_stopped(self);
    });
  }

  /// False: some of its files are left for another call.
  bool release() {
    if (released) return true;
    programs.clear();
    for (auto& reader : sidecar_output) reader.reset();
    if (!remove_directory_of(plan, sockets)) return false;
    if (plan.cgroups != nullptr) plan.cgroups->remove(plan.id);
    released = true;
    return true;
  }
};

ChildReplica::ChildReplica(asio::io_context& io, Loop& loop, Reaper& reaper, Spawner& spawner,
                           ReplicaOwner& owner, ReplicaPlan plan)
    : impl_(std::make_unique<Impl>(io, loop, reaper, spawner, owner, *this, std::move(plan))) {}

ChildReplica::~ChildReplica() {
  impl_->token.end();
  if (impl_->sidecar_alive) {
    kill_group(impl_->sidecar, SIGKILL);
    impl_->reaper.unwatch(impl_->sidecar);
  }
  while (impl_->times.created && !impl_->release()) {
  }
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

void ChildReplica::hold(bool held) {
  if (!impl_->app_alive()) return;
  impl_->app()->hold(held);
  if (held && impl_->sidecar_alive) kill_group(impl_->sidecar, SIGUSR1);
}

const std::string& ChildReplica::id() const {
  return impl_->plan.id;
}

std::uint16_t ChildReplica::port() const {
  return impl_->plan.port.port();
}

pid_t ChildReplica::app_pid() const {
  return impl_->last_app;
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
  return impl_->app() == nullptr ? 0 : impl_->app()->memory_bytes();
}

}  // namespace sluice::local
