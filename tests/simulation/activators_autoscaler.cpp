#include "tests/simulation/activators_autoscaler.h"

#include "autoscaler/core/decision/scrape.h"

#include <algorithm>
#include <utility>
#include <variant>

namespace sluice::simulation {

namespace {

constexpr Duration kTick = std::chrono::milliseconds{100};

std::int32_t live(const std::vector<PodLine>& pods) {
  return static_cast<std::int32_t>(
      std::count_if(pods.begin(), pods.end(), [](const PodLine& pod) { return !pod.terminating; }));
}

}  // namespace

AutoscalerProgram::AutoscalerProgram(Scene& scene, Platform& platform, Choosers choosers)
    : scene_(scene),
      platform_(platform),
      choosers_(std::move(choosers)),
      started_(now()),
      born_(scene.timeline.now()),
      hub_({.autoscaler = "autoscaler-0", .version = "1"},
           {.all = {"b-0"}, .owned = {"b-0"}, .epoch = 1},
           scene.world.mutant == Mutant::versions_restart ? TimePoint{kTick} : started_),
      revisions_(platform.revisions()) {
  for (std::size_t index = 0; index < revisions_.size(); ++index) {
    Revision& revision = revisions_[index];
    revision.pods = platform_.pods(index);
    revision.written = platform_.scale(index);
    // An earlier order is the best word on what runs; without one the pods that are there are
    // meant to be, and a revision that is new gets its initial scale.
    std::optional<std::int32_t> replicas;
    if (revision.written) {
      replicas = revision.written->replicas;
      std::vector<PodId> released;
      for (const std::string& name : revision.written->remove) released.push_back({name});
      revision.removals = autoscaler::Removals{released};
    } else if (live(revision.pods) > 0) {
      replicas = live(revision.pods);
    }
    const auto handle = scalers_.add(Platform::id(index),
                                     {.scaling = scene.world.scaling,
                                      .revision = {},
                                      .replicas = replicas,
                                      .taken_over = replicas.has_value()},
                                     ready(revision), now());
    revision.handle = *handle;
    revision.want = scalers_.scaler(revision.handle)->want();
    publish(index);
  }
  tick();
}

// With a step back goes the age of what was heard; a jump forward ages it.
void AutoscalerProgram::jump(Duration by) {
  offset_ += by;
  if (by > Duration{0}) return;
  started_ += by;
  for (auto& [activator, heard] : heard_) heard += by;
}

void AutoscalerProgram::kill() {
  alive_ = false;
  for (Wire* wire : std::exchange(wires_, {})) wire->close_by_autoscaler();
}

std::int32_t AutoscalerProgram::ready(const Revision& revision) const {
  return static_cast<std::int32_t>(
      std::count_if(revision.pods.begin(), revision.pods.end(), [&revision](const PodLine& pod) {
        return pod.ready && !pod.terminating && !revision.removals.leaving({pod.name});
      }));
}

std::optional<std::size_t> AutoscalerProgram::index_of(const RevisionId& revision) const {
  for (std::size_t index = 0; index < revisions_.size(); ++index) {
    if (Platform::id(index) == revision) return index;
  }
  return std::nullopt;
}

void AutoscalerProgram::read_pods(std::size_t index) {
  if (!alive_) return;
  revisions_[index].pods = platform_.pods(index);
  publish(index);
  pump();
}

std::size_t AutoscalerProgram::connected() const {
  return scene_.world.websocket ? wires_.size() : hub_.connected();
}

// --- wires ---

std::optional<autoscaler::ActivatorHub::Session> AutoscalerProgram::opened(Wire& wire) {
  if (!alive_) return std::nullopt;
  if (scene_.world.websocket) {
    wires_.push_back(&wire);
    return 0;
  }
  const auto session = hub_.open(now());
  if (session) wires_.push_back(&wire);
  return session;
}

void AutoscalerProgram::closed(Wire& wire) {
  std::erase(wires_, &wire);
  if (alive_ && !scene_.world.websocket) hub_.closed(wire.session(), now());
}

void AutoscalerProgram::received(Wire& wire, proto::ActivatorMessage message) {
  if (!alive_) return;
  const bool deaf = scene_.world.mutant == Mutant::deaf_autoscaler;
  if (deaf && std::holds_alternative<proto::StatBatch>(message)) return;
  heard_[&wire.activator()] = now();
  autoscaler::ActivatorHub::Heard heard = hub_.received(wire.session(), std::move(message), now());
  if (heard.refused) {
    hub_.closed(wire.session(), now());
    std::erase(wires_, &wire);
    return wire.close_by_autoscaler();
  }
  for (const auto& pushed : heard.stats) {
    push(pushed.revision, pushed.stat, pushed.stamp, autoscaler::StatDoor::stream);
  }
  for (const auto& poke : heard.pokes) {
    const auto index = index_of(poke.revision);
    if (!index || deaf) continue;
    push(poke.revision, {.average_concurrency = poke.concurrency}, std::nullopt,
         autoscaler::StatDoor::stream);
    evaluate(*index, autoscaler::Trigger::poke);
  }
  if (heard.applied) {
    if (const auto index = index_of(*heard.applied)) release(*index);
  }
  pump();
}

void AutoscalerProgram::received(const std::vector<proto::StatMessage>& batch) {
  if (!alive_ || scene_.world.mutant == Mutant::deaf_autoscaler) return;
  for (const proto::StatMessage& one : batch) {
    push(one.revision,
         {.average_concurrency = one.stat.average_concurrent_requests,
          .request_count = one.stat.request_count},
         std::nullopt, autoscaler::StatDoor::websocket);
  }
}

std::optional<proto::AutoscalerMessage> AutoscalerProgram::next_message(
    autoscaler::ActivatorHub::Session session) {
  if (!alive_ || scene_.world.websocket) return std::nullopt;
  return hub_.next_message(session, now());
}

void AutoscalerProgram::pump() {
  // A wire may go while it is pumped.
  for (Wire* wire : std::vector<Wire*>(wires_)) wire->pump_down();
}

// --- scaling ---

void AutoscalerProgram::push(const RevisionId& revision, const autoscaler::Stat& stat,
                             std::optional<TimePoint> stamp, autoscaler::StatDoor door) {
  if (!scalers_.push(revision, stat, stamp, door, now())) return;
  if (const auto index = index_of(revision)) evaluate(*index, autoscaler::Trigger::poke);
}

void AutoscalerProgram::tick() {
  if (!alive_) return;
  scene_.timeline.after(kTick, [this] { tick(); });
  scalers_.take_due(now(), due_);
  for (const autoscaler::MultiScaler::Due& due : std::vector(due_)) {
    for (std::size_t index = 0; index < revisions_.size(); ++index) {
      if (revisions_[index].handle != due.handle) continue;
      scrape(index);
      due.evaluate ? evaluate(index, autoscaler::Trigger::tick) : release(index);
    }
  }
  pump();
}

void AutoscalerProgram::scrape(std::size_t index) {
  Revision& revision = revisions_[index];
  if (scene_.strikes(scene_.world.faults.share_lost_scrapes)) return;
  std::vector<autoscaler::Stat> answers;
  for (const PodLine& line : revision.pods) {
    SimulatedPod* const pod = platform_.at(line.dest);
    if (!line.ready || line.terminating || pod == nullptr || pod->gone()) continue;
    const load::LoadReport seen = pod->report();
    loads_[line.name] = seen.average_concurrency;
    answers.push_back({seen.average_concurrency, seen.average_proxied_concurrency,
                       seen.request_count, seen.proxied_request_count});
  }
  if (answers.empty()) return;
  const auto count = static_cast<std::int32_t>(answers.size());
  answers.resize(static_cast<std::size_t>(autoscaler::sample_size(count)));
  scalers_.scaler(revision.handle)->scraped(autoscaler::scrape_average(answers, count), now());
}

void AutoscalerProgram::evaluate(std::size_t index, autoscaler::Trigger trigger) {
  Revision& revision = revisions_[index];
  const std::size_t activators = connected();
  const bool unheard = scene_.world.mutant == Mutant::sleeps_unheard;
  revision.state = scalers_.scaler(revision.handle)
                       ->evaluate({.trigger = trigger,
                                   .ready = ready(revision),
                                   .activator_connected = activators > 0 || unheard},
                                  now());
  const std::int32_t before = revision.want;
  revision.want = revision.state.want;
  if (scene_.world.mutant == Mutant::never_sleeps) revision.want = std::max(before, revision.want);
  scene_.watch.scaled(Platform::id(index), before, revision.want, activators);
  publish(index);
  pump();
}

proto::RevisionState AutoscalerProgram::state_of(std::size_t index,
                                                 const Revision& revision) const {
  proto::RevisionState state;
  state.revision = Platform::id(index);
  state.desired = state.granted = revision.want;
  if (scene_.short_of_room() && live(revision.pods) < revision.want) {
    state.granted = live(revision.pods);
    state.cannot_scale = {proto::CannotScaleReason::no_capacity, "", std::chrono::seconds{1}};
  }
  state.ready = ready(revision);
  state.route_mode = revision.state.route_mode == autoscaler::RouteMode::serve
                         ? proto::RouteMode::serve
                         : proto::RouteMode::proxy;
  state.activators = revision.state.activators;
  for (const PodLine& pod : revision.pods) {
    if (pod.terminating || revision.removals.leaving({pod.name})) state.avoid.push_back(pod.dest);
  }
  std::sort(state.avoid.begin(), state.avoid.end());
  return state;
}

// The activators first: only what they no longer choose may be stopped.
void AutoscalerProgram::publish(std::size_t index) {
  Revision& revision = revisions_[index];
  std::vector<autoscaler::RemovalCandidate> candidates;
  for (const PodLine& pod : revision.pods) {
    const auto load = loads_.find(pod.name);
    candidates.push_back(
        {.id = {pod.name},
         .ready = pod.ready,
         .terminating = pod.terminating,
         .load = load == loads_.end() ? std::nullopt : std::optional(load->second)});
  }
  revision.removals.plan(candidates, revision.want);
  const std::uint64_t version = hub_.set_state(state_of(index, revision), now());
  scene_.watch.decided(Platform::id(index), version);
  revision.removals.told(version);
  release(index);
}

void AutoscalerProgram::release(std::size_t index) {
  Revision& revision = revisions_[index];
  revision.removals.release([this, index](std::uint64_t version) {
    return scene_.world.mutant == Mutant::removes_at_once ||
           hub_.applied(Platform::id(index), version, now());
  });
  ScaleLine line{.replicas = revision.want};
  for (const PodId& pod : revision.removals.released()) line.remove.push_back(pod.name);
  if (line == revision.written) return;
  for (const std::string& name : line.remove) {
    const bool known = revision.written &&
                       std::find(revision.written->remove.begin(), revision.written->remove.end(),
                                 name) != revision.written->remove.end();
    if (!known) check_removal(index, name);
  }
  revision.written = line;
  platform_.write_scale(index, std::move(line));
}

void AutoscalerProgram::check_removal(std::size_t index, const std::string& name) {
  if (scene_.world.websocket) return;  // nobody applies anything there
  const std::vector<PodLine>& pods = revisions_[index].pods;
  const std::string dest = std::find_if(pods.begin(), pods.end(), [&name](const PodLine& pod) {
                             return pod.name == name;
                           })->dest;
  std::vector<ScaleWatch::Chooser> choosers;
  for (const Living& one : choosers_(index, dest)) {
    ScaleWatch::Chooser chooser{.activator = one.name,
                                .heard = {},
                                .before_autoscaler = one.started < born_,
                                .avoids = one.avoids};
    const auto heard = heard_.find(one.program);
    if (heard != heard_.end()) chooser.heard = now() - heard->second;
    choosers.push_back(chooser);
  }
  scene_.watch.removes(Platform::id(index), name, choosers, now() - started_);
}

}  // namespace sluice::simulation
