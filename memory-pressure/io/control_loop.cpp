#include "memory-pressure/io/control_loop.h"

#include "common/rpc/client.h"

#include <algorithm>
#include <utility>

namespace sluice::node_agent {
namespace {

constexpr Duration kLookEvery = std::chrono::seconds{1};
constexpr Duration kHurriedLookEvery = std::chrono::milliseconds{250};
constexpr std::int64_t kReclaimBytes = std::int64_t{64} << 20;  // of one container at a time
// The scatter of pauses serves many clients of one server; here there is one.
constexpr double kNoScatter = 0.5;

}  // namespace

ControlLoop::ControlLoop(const Parts& parts, const Options& options)
    : parts_{parts},
      dry_run_{options.controller.dry_run},
      controller_{options.controller},
      hand_{{.loop = parts.loop,
             .runtime = parts.runtime,
             .containers = parts.containers,
             .journal = parts.journal,
             .controller = controller_,
             .log = parts.log,
             .boot_id = options.controller.boot_id,
             .lease = options.lease}},
      timer_{parts.loop.timer()},
      retry_{parts.loop.timer()},
      look_timer_{parts.loop.timer()} {
  hand_.on_look_again([this] { wake(); });
  parts_.containers.on_ended(
      [this](const Container& container, const cri::ContainerStatus& status) {
        note_end(container, status);
      });
  parts_.containers.on_born([this] { look_at_birth(); });
  parts_.containers.on_pod_ended([this](const std::string& uid) { note_pod_end(uid); });
}

void ControlLoop::start(std::function<void(const Problem&)> fatal) {
  fatal_ = std::move(fatal);
  connect();
}

void ControlLoop::connect() {
  parts_.runtime.connect([this, alive = alive_.watch()](auto version) {
    if (alive.over()) return;
    if (version) {
      runtime_ = *version;
      runtime_problem_.clear();
      failures_ = 0;
      parts_.log.write(log::Severity::info, "found the container runtime",
                       {{"runtime", runtime_->runtime + " " + runtime_->version},
                        {"socket", parts_.runtime.socket()},
                        {"cgroups", std::string{parts_.containers.cgroups()}}});
      return recover_journal();
    }
    const RuntimeProblem& problem = version.error();
    if (problem.is_final()) return fatal_(problem.problem);
    if (problem.problem.text() != runtime_problem_) {
      parts_.log.write(log::Severity::warning, problem.problem.text());
    }
    runtime_problem_ = problem.problem.text();
    check_restored();
    retry_->after(rpc::retry_pause(++failures_, kNoScatter), [this] { connect(); });
  });
}

// Before anything is decided: what the run before has left (rows 26 to 30).
void ControlLoop::recover_journal() {
  parts_.containers.look([this, alive = alive_.watch()](bool answered) {
    if (alive.over()) return;
    ++counts_.looks;
    if (!answered) {
      ++counts_.look_failures;
      check_restored();
      return retry_->after(rpc::retry_pause(++failures_, kNoScatter),
                           [this] { recover_journal(); });
    }
    failures_ = 0;
    const Observation seen = observe();
    std::string journal;
    if (parts_.journal != nullptr) {
      auto content = parts_.journal->content();
      if (content) journal = std::move(*content);
      if (!content) parts_.log.write(log::Severity::error, content.error().text());
    }
    const Recovery recovery = controller_.take_over(journal, seen);
    const std::size_t left = recovery.ours.size() + recovery.strays.size();
    if (left > 0 || recovery.skipped_lines > 0) {
      parts_.log.write(log::Severity::warning, "found throttles of an earlier run",
                       {{"throttled", std::to_string(recovery.ours.size())},
                        {"without_record", std::to_string(recovery.strays.size())},
                        {"forgotten", std::to_string(recovery.forgotten.size())},
                        {"lines_skipped", std::to_string(recovery.skipped_lines)}});
    }
    if (const auto problem = hand_.compact()) {
      parts_.log.write(log::Severity::error, problem->text());
    }
    recovered_ = true;
    if (told_recovered_) told_recovered_();
    look_after(kHurriedLookEvery);
    tick();
  });
}

// Who was frozen for longer than the lease finds its throttles given back, and its memory of them
// wrong. It is as if it had been killed and started again.
void ControlLoop::restart() {
  parts_.log.write(
      log::Severity::warning,
      "the agent was paused for longer than its lease, so its throttles may have been released: "
      "reading them again");
  ++counts_.lapses;
  recovered_ = false;
  controller_.forget();
  recover_journal();
}

void ControlLoop::wake() {
  if (!recovered_) return;
  again_ = true;
  if (ticking_) return;
  const Duration soonest = controller_.soonest_sample();
  const Duration wait = last_tick_ + soonest - parts_.loop.now();
  timer_->after(std::min(wait, soonest), [this] { tick(); });
}

// A newborn holds next to nothing for a few milliseconds only: its hold waits for no sample. In a
// turn of its own, so that what was born together is decided together.
void ControlLoop::look_at_birth() {
  if (!recovered_) return;
  again_ = true;
  if (!ticking_) timer_->after(Duration::zero(), [this] { tick(); });
}

void ControlLoop::switch_on(bool on) {
  if (on == controller_.is_on() || restored_) return;
  parts_.log.write(log::Severity::warning,
                   on ? "switched on" : "switched off: releasing all throttles");
  controller_.switch_on(on);
  wake();
}

void ControlLoop::restore(Duration limit, std::function<void(bool)> done) {
  restored_ = std::move(done);
  restore_until_ = parts_.loop.now() + limit;
  controller_.switch_on(false);
  if (recovered_) wake();
  if (!recovered_) check_restored();
}

void ControlLoop::look() {
  if (std::exchange(looking_, true)) return;
  parts_.containers.look([this, alive = alive_.watch()](bool answered) {
    if (alive.over()) return;
    looking_ = false;
    ++counts_.looks;
    if (answered) {
      if (failures_ > 0) parts_.log.write(log::Severity::info, "the runtime answers again");
      failures_ = 0;
      return look_after(controller_.is_hurried() ? kHurriedLookEvery : kLookEvery);
    }
    ++counts_.look_failures;
    if (failures_ == 0) {
      parts_.log.write(
          log::Severity::warning,
          "the runtime does not answer: throttles stay, no further container is throttled");
    }
    look_after(rpc::retry_pause(++failures_, kNoScatter));
  });
}

void ControlLoop::look_after(Duration wait) {
  look_due_ = false;
  look_timer_->after(wait, [this] { look_due_ = true; });
}

Observation ControlLoop::observe() {
  Observation seen;
  seen.now = parts_.loop.now();
  if (recovered_) parts_.containers.sample(seen.now, controller_.is_hurried());
  if (parts_.memory) {
    seen.memory = parts_.memory();
    if (!seen.memory) ++counts_.memory_failures;
  }
  seen.runtime_answers = parts_.containers.answers();
  seen.containers = parts_.containers.containers();
  return seen;
}

void ControlLoop::tick() {
  if (lapsed_ && lapsed_()) return restart();
  ++counts_.samples;
  last_tick_ = parts_.loop.now();
  ticking_ = true;
  again_ = false;
  act(observe());
  ticking_ = false;
  if (look_due_) look();
  plan_next();
  check_restored();
}

void ControlLoop::act(Observation seen) {
  const Pressure before = controller_.decision().pressure;
  const std::vector<HeldThrottle> shown =
      dry_run_ ? controller_.held() : std::vector<HeldThrottle>{};
  const std::vector<Action> actions = controller_.observe(std::move(seen));
  if (controller_.decision().pressure != before) note_changes();
  if (dry_run_) note_dry_run(shown);
  note_blocked();
  hand_.carry_out(actions, controller_.seen().now);
  hand_.renew_lease();
  if (!dry_run_) {
    for (const std::string& id : controller_.decision().reclaim)
      parts_.containers.reclaim(id, kReclaimBytes);
  }
  if (decided_) decided_();
}

void ControlLoop::plan_next() {
  timer_->after(
      std::exchange(again_, false) ? controller_.soonest_sample() : controller_.next_sample(),
      [this] { tick(); });
}

void ControlLoop::check_restored() {
  if (!restored_) return;
  const bool restored = recovered_ && controller_.is_restored();
  if (!restored && parts_.loop.now() < restore_until_) return;
  std::exchange(restored_, nullptr)(restored);
}

bool ControlLoop::is_degraded() const {
  return !trouble().empty();
}

std::string ControlLoop::trouble() const {
  if (!recovered_) {
    return runtime_problem_.empty() ? "the runtime has not answered yet" : runtime_problem_;
  }
  if (!parts_.containers.answers() || controller_.is_degraded())
    return "the runtime does not answer";
  if (parts_.memory && !controller_.seen().memory) return "memory cannot be read";
  if (hand_.journal_fails()) return "the journal cannot be written";
  return {};
}

void ControlLoop::note_changes() {
  const Decision& decision = controller_.decision();
  const NodeMemory memory = controller_.seen().memory.value_or(NodeMemory{});
  parts_.log.write(
      decision.pressure == Pressure::ok ? log::Severity::info : log::Severity::warning,
      "memory pressure",
      {{"pressure", std::string{name_of(decision.pressure)}},
       {"used", std::to_string(memory.used)},
       {"capacity", std::to_string(memory.capacity)},
       {"upper", std::to_string(decision.upper)},
       {"growth_per_second", std::to_string(decision.growth_per_second)},
       {"admit_bytes",
        decision.admit_bytes == kAdmitAnything ? "any" : std::to_string(decision.admit_bytes)},
       {"throttled", std::to_string(decision.throttled.size())},
       {"why", decision.why}});
}

void ControlLoop::note_dry_run(const std::vector<HeldThrottle>& before) {
  const Decision& decision = controller_.decision();
  for (const Throttle& throttle : decision.throttled) {
    const bool known = std::any_of(before.begin(), before.end(), [&](const HeldThrottle& held) {
      return held.container.id == throttle.id && held.quota == throttle.quota;
    });
    if (known) continue;
    parts_.log.write(log::Severity::info, "would throttle",
                     {{"container", hand_.shown(throttle.id)},
                      {"quota", std::to_string(throttle.quota.quota_us) + "/" +
                                    std::to_string(throttle.quota.period_us)},
                      {"why", throttle.why}});
  }
  if (decision.sacrifice) {
    parts_.log.write(
        log::Severity::info, "would sacrifice",
        {{"container", hand_.shown(decision.sacrifice->id)}, {"why", decision.sacrifice->why}});
  }
}

// Said once a minute.
void ControlLoop::note_blocked() {
  if (!controller_.is_blocked()) return;
  ++counts_.exempt_blocked;
  const Observation& seen = controller_.seen();
  if (blocked_noted_ && seen.now - *blocked_noted_ < std::chrono::minutes{1}) return;
  blocked_noted_ = seen.now;
  parts_.log.write(log::Severity::warning, "memory is short and no container may be throttled",
                   {{"containers", std::to_string(seen.containers.size())},
                    {"used", std::to_string(seen.memory->used)},
                    {"capacity", std::to_string(seen.memory->capacity)}});
}

void ControlLoop::note_end(const Container& container, const cri::ContainerStatus& status) {
  const Ending ending{.exited = status.state == cri::State::exited,
                      .exit_code = status.exit_code,
                      .reason = status.reason,
                      .stopped_by_us = hand_.has_stopped(container.id)};
  if (controller_.container_ended(container.pod_uid, ending, parts_.loop.now())) {
    note_eviction(container.pod_uid);
  }
  std::string_view cause;
  switch (exit_cause(ending)) {
    case ExitCause::oom_killed:
      ++counts_.ended_oom;
      cause = "killed by the kernel, for memory";
      break;
    case ExitCause::sacrificed:
      ++counts_.ended_sacrificed;
      cause = "sacrificed";
      break;
    case ExitCause::killed:
      ++counts_.ended_killed;
      cause = "killed by another process";
      break;
    case ExitCause::none:
    case ExitCause::completed:
    case ExitCause::failed:
      return;
  }
  parts_.log.write(
      log::Severity::warning, "container ended",
      {{"container", container.pod_namespace + "/" + container.pod + "/" + container.name},
       {"cause", std::string{cause}},
       {"exit_code", std::to_string(status.exit_code)},
       {"reason", status.reason}});
}

void ControlLoop::note_pod_end(const std::string& pod_uid) {
  if (controller_.pod_ended(pod_uid, parts_.loop.now())) note_eviction(pod_uid);
}

void ControlLoop::note_eviction(const std::string& pod_uid) {
  ++counts_.evictions;
  parts_.log.write(log::Severity::warning,
                   "a pod ended while memory was short, probably by eviction: throttling starts "
                   "earlier for a while",
                   {{"pod_uid", pod_uid}});
}

}  // namespace sluice::node_agent
