#include "tests/simulation/activators_autoscaler.h"

#include <algorithm>
#include <utility>
#include <variant>

namespace sluice::simulation {

SimAutoscaler::Engine::Engine(SimAutoscaler& program, TimePoint first)
    : loop{program.scene_.timeline.time()},
      random{program.scene_.world.seed},
      hub{{.autoscaler = "autoscaler-0", .version = "1"},
          {.all = {"b-0"}, .owned = {"b-0"}, .epoch = 1},
          first},
      platform{program.platform_,
               [&program](std::size_t revision, const std::optional<ScaleLine>& before,
                          const ScaleLine& now) { program.ordered(revision, before, now); }},
      stats{program.scene_, program.platform_},
      around{.clock = loop,
             .stats = stats,
             .log = log,
             .loop = scale_loop,
             .hub = hub,
             .placement = placement,
             .throttled = nodes,
             .platform = platform,
             .events = events,
             .random = random,
             .activator_connected = [&program] { return program.connected() > 0; },
             .news = [this] { streams.news(); }},
      streams{loop, log, hub,
              [&program](const autoscaler::ActivatorHub::Heard& heard) { program.heard(heard); }} {}

SimAutoscaler::SimAutoscaler(Scene& scene, Platform& platform, Choosers choosers)
    : scene_(scene),
      platform_(platform),
      choosers_(std::move(choosers)),
      born_(scene.timeline.now()),
      started_(born_) {
  const bool restart = scene.world.mutant == Mutant::versions_restart;
  engine_ = std::make_unique<Engine>(
      *this, restart ? TimePoint{std::chrono::milliseconds{100}} : started_);
  if (scene.short_of_room()) read_room();
  for (std::size_t index = 0; index < platform.revisions(); ++index) read_pods(index);
  engine_->events.begin();
}

// A step back resets the age of messages; a jump forward ages them.
void SimAutoscaler::jump(Duration by) {
  engine_->loop.step(by);
  if (by > Duration{0}) return;
  started_ += by;
  for (auto& [activator, heard] : heard_) heard += by;
}

void SimAutoscaler::kill() {
  engine_.reset();
  for (Wire* wire : std::exchange(sockets_, {})) wire->close_by_autoscaler();
}

void SimAutoscaler::read_pods(std::size_t index) {
  if (!alive()) return;
  for (const PodLine& line : platform_.pods(index)) dests_[line.name] = line.dest;
  engine_->fleet.on_revision(revision_file(scene_.world, platform_, index));
}

// One that does not act bounds nothing.
void SimAutoscaler::read_room() {
  proto::NodeReport report;
  report.node = "node";
  report.sequence = ++room_reports_;
  report.dry_run = !scene_.short_of_room();
  const auto heard = engine_->nodes.hear(std::move(report), now());
  if (std::get<autoscaler::NodeBook::Heard>(heard).changed) engine_->fleet.room_changed();
}

// --- wires ---

std::size_t SimAutoscaler::connected() const {
  return scene_.world.websocket ? sockets_.size() : engine_->hub.connected();
}

bool SimAutoscaler::opened(Wire& wire) {
  if (!alive()) return false;
  if (scene_.world.websocket) {
    sockets_.push_back(&wire);
  } else {
    engine_->streams.take(std::make_unique<WireLine>(wire));
  }
  return true;
}

void SimAutoscaler::closed(Wire& wire) {
  std::erase(sockets_, &wire);
}

void SimAutoscaler::received(Wire& wire, proto::ActivatorMessage message) {
  if (!alive()) return;
  heard_[&wire.activator()] = now();
  wire.tell_autoscaler(std::move(message));
}

void SimAutoscaler::heard(const autoscaler::ActivatorHub::Heard& heard) {
  const bool deaf = scene_.world.mutant == Mutant::deaf_autoscaler;
  engine_->fleet.heard(deaf ? autoscaler::ActivatorHub::Heard{.applied = heard.applied} : heard);
}

void SimAutoscaler::received(const std::vector<proto::StatMessage>& batch) {
  if (alive() && scene_.world.mutant != Mutant::deaf_autoscaler) engine_->fleet.pushed(batch);
}

// --- orders ---

void SimAutoscaler::ordered(std::size_t index, const std::optional<ScaleLine>& before,
                            const ScaleLine& now) {
  const RevisionId id = Platform::id(index);
  scene_.watch.decided(id, state(index)->version);
  scene_.watch.scaled(id, before.value_or(ScaleLine{}).replicas, now.replicas, connected());
  for (const std::string& pod : now.remove) {
    const bool known = before && std::find(before->remove.begin(), before->remove.end(), pod) !=
                                     before->remove.end();
    if (!known) check_removal(index, pod);
  }
}

void SimAutoscaler::check_removal(std::size_t index, const std::string& pod) {
  if (scene_.world.websocket) return;  // no activator confirms anything there
  std::vector<ScaleWatch::Chooser> choosers;
  for (const Living& one : choosers_(index, dests_.at(pod))) {
    ScaleWatch::Chooser chooser{.activator = one.name,
                                .heard = {},
                                .before_autoscaler = one.started < born_,
                                .avoids = one.avoids};
    const auto heard = heard_.find(one.program);
    if (heard != heard_.end()) chooser.heard = now() - heard->second;
    choosers.push_back(chooser);
  }
  scene_.watch.removes(Platform::id(index), pod, choosers, now() - started_);
}

}  // namespace sluice::simulation
