// The run of a world: clients, faults, files on their way, and the checks after every event.
#include "tests/simulation/activators_activator.h"
#include "tests/simulation/activators_autoscaler.h"
#include "tests/simulation/activators_platform.h"
#include "tests/simulation/activators_scene.h"
#include "tests/simulation/activators_wire.h"
#include "tests/simulation/activators_world.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <vector>

namespace sluice::simulation {

namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Duration kFaultPeriod = milliseconds{250};
constexpr Duration kLookPeriod = milliseconds{100};
constexpr Between kRestart{milliseconds{100}, seconds{5}};
// When everything has been at rest for so long, the rest of the quiet is not played.
constexpr int kLooksAtRest = 30;

class Run {
 public:
  explicit Run(const ActivatorsWorld& world) : scene_(world), platform_(scene_) {}

  [[nodiscard]] ActivatorsOutcome play();

 private:
  void set_up();
  void start_autoscaler();
  void start_activator(SimActivator::Identity identity);
  [[nodiscard]] Wire* dial(SimActivator& activator);
  [[nodiscard]] std::vector<SimAutoscaler::Living> choosers(std::size_t revision,
                                                            const std::string& dest) const;
  void files_changed(std::size_t revision);
  void arrivals(std::size_t revision, bool arrives);
  void trouble();
  void trouble_wires(double share);
  void trouble_activators(double share);
  void retire(SimActivator& activator);
  void look();
  void check_stranded();
  [[nodiscard]] std::uint64_t wanted() const;
  [[nodiscard]] bool at_rest() const;
  [[nodiscard]] bool converged() const;
  void check_rest();
  [[nodiscard]] bool broken();
  void account();
  [[nodiscard]] std::vector<SimActivator*> activators(bool only_staying) const;

  Scene scene_;
  Platform platform_;
  std::vector<std::unique_ptr<SimActivator>> activators_;  // all there ever were
  std::vector<std::unique_ptr<Wire>> wires_;               // outlive the lines over them
  std::vector<std::unique_ptr<SimAutoscaler>> autoscalers_;
  SimAutoscaler* autoscaler_ = nullptr;  // null while it is down
  std::uint64_t names_ = 0;
  int looks_at_rest_ = 0;
};

ActivatorsOutcome Run::play() {
  set_up();
  const Duration end = scene_.world.length + scene_.world.quiet;
  while (scene_.timeline.step(end)) {
    ++scene_.outcome.events;
    scene_.ledger.check_room(scene_.timeline.now());
    if (broken()) break;
    if (looks_at_rest_ >= kLooksAtRest) break;
  }
  if (scene_.outcome.breach.empty()) check_rest();
  account();
  return scene_.outcome;
}

void Run::set_up() {
  platform_.on_pods = [this](std::size_t revision) { files_changed(revision); };
  platform_.on_activators = [this] {
    for (SimActivator* activator : activators(false)) {
      scene_.timeline.after(platform_.file_delay(), [activator] { activator->read_activators(); });
    }
  };
  for (std::int32_t count = 0; count < scene_.world.activators; ++count) {
    const std::string number = std::to_string(++names_);
    start_activator({"activator-" + number, "10.0.0." + number + ":8012"});
  }
  start_autoscaler();
  for (std::size_t revision = 0; revision < platform_.revisions(); ++revision) {
    scene_.timeline.after(Duration{0}, [this, revision] { arrivals(revision, false); });
  }
  scene_.timeline.after(kFaultPeriod, [this] { trouble(); });
  scene_.timeline.after(kLookPeriod, [this] { look(); });
}

void Run::files_changed(std::size_t revision) {
  for (SimActivator* activator : activators(false)) {
    scene_.timeline.after(platform_.file_delay(),
                          [activator, revision] { activator->read_pods(revision); });
  }
  if (autoscaler_ == nullptr) return;
  scene_.timeline.after(platform_.file_delay(),
                        [reader = autoscaler_, revision] { reader->read_pods(revision); });
}

void Run::start_autoscaler() {
  autoscalers_.push_back(std::make_unique<SimAutoscaler>(
      scene_, platform_,
      [this](std::size_t revision, const std::string& dest) { return choosers(revision, dest); }));
  autoscaler_ = autoscalers_.back().get();
}

void Run::start_activator(SimActivator::Identity identity) {
  const std::string address = identity.address;
  activators_.push_back(
      std::make_unique<SimActivator>(scene_, platform_, std::move(identity),
                                     [this](SimActivator& activator) { return dial(activator); }));
  platform_.list_activator(address, true);
}

Wire* Run::dial(SimActivator& activator) {
  if (autoscaler_ == nullptr) return nullptr;
  wires_.push_back(std::make_unique<Wire>(scene_, activator, *autoscaler_));
  return wires_.back()->open() ? wires_.back().get() : nullptr;
}

std::vector<SimAutoscaler::Living> Run::choosers(std::size_t revision,
                                                 const std::string& dest) const {
  std::vector<SimAutoscaler::Living> all;
  for (const SimActivator* activator : activators(false)) {
    all.push_back({.program = activator,
                   .name = activator->identity().name,
                   .started = activator->started(),
                   .avoids = activator->avoids(revision, dest)});
  }
  return all;
}

std::vector<SimActivator*> Run::activators(bool only_staying) const {
  std::vector<SimActivator*> all;
  for (const auto& activator : activators_) {
    if (activator->alive() && !(only_staying && activator->draining())) {
      all.push_back(activator.get());
    }
  }
  return all;
}

// The next arrival is drawn at the rate of now, and drawn again when none falls within half a
// second, so that a rate that changes is followed without integrating it.
void Run::arrivals(std::size_t revision, bool arrives) {
  const Duration since = scene_.timeline.since_start();
  if (since >= scene_.world.length) return;
  if (arrives) {
    std::vector<SimActivator*> open = activators(false);
    std::erase_if(open, [](const SimActivator* one) { return !one->accepts(); });
    open[scene_.timeline.below(open.size())]->arrive(revision);
  }
  const double rate = scene_.world.rate(since);
  const double wait = rate > 0 ? -std::log(1 - scene_.timeline.share()) / rate : 1.0;
  const bool comes = wait <= 0.5;
  scene_.timeline.after(from_seconds(std::min(wait, 0.5)),
                        [this, revision, comes] { arrivals(revision, comes); });
}

void Run::trouble() {
  if (!scene_.faulty()) return;
  scene_.timeline.after(kFaultPeriod, [this] { trouble(); });
  const Faults& faults = scene_.world.faults;
  const double share = to_seconds(kFaultPeriod);
  trouble_wires(share);
  trouble_activators(share);
  platform_.kill_some(faults.pod_kills_per_second * share);
  if (autoscaler_ != nullptr &&
      scene_.timeline.happens(faults.autoscaler_kills_per_second * share)) {
    ++scene_.outcome.autoscalers_killed;
    autoscaler_->kill();
    autoscaler_ = nullptr;
    scene_.timeline.after(scene_.timeline.draw(faults.autoscaler_down),
                          [this] { start_autoscaler(); });
  }
  if (scene_.timeline.happens(faults.shortages_per_second * share)) {
    ++scene_.outcome.shortages;
    const Duration length = scene_.timeline.draw(faults.shortage);
    scene_.room_from = std::max(scene_.room_from, scene_.timeline.now() + length);
    if (autoscaler_ != nullptr) autoscaler_->read_room();
    scene_.timeline.after(length + milliseconds{1}, [this] {
      if (autoscaler_ != nullptr) autoscaler_->read_room();
      platform_.start_missing();
    });
  }
  if (!scene_.timeline.happens(faults.clock_jumps_per_second * share)) return;
  ++scene_.outcome.clock_jumps;
  const Duration by = scene_.timeline.draw({-faults.clock_jump_max, faults.clock_jump_max});
  const std::vector<SimActivator*> living = activators(false);
  const std::size_t who = scene_.timeline.below(living.size() + 1);
  if (who < living.size()) return living[who]->jump(by);
  if (autoscaler_ != nullptr) autoscaler_->jump(by);
}

void Run::trouble_wires(double share) {
  const Faults& faults = scene_.world.faults;
  for (const auto& wire : wires_) {
    if (wire->over()) continue;
    if (scene_.timeline.happens(faults.cuts_per_second * share)) {
      ++scene_.outcome.streams_cut;
      wire->cut();
    }
    if (scene_.timeline.happens(faults.stalls_per_second * share)) {
      wire->stall(scene_.timeline.draw(faults.stall));
    }
  }
}

void Run::trouble_activators(double share) {
  const Faults& faults = scene_.world.faults;
  const std::vector<SimActivator*> staying = activators(true);
  if (staying.size() > 1 && scene_.timeline.happens(faults.activator_leaves_per_second * share)) {
    retire(*staying[scene_.timeline.below(staying.size())]);
  }
  const auto most = static_cast<std::size_t>(2 * scene_.world.activators);
  if (staying.size() < most && scene_.timeline.happens(faults.activator_joins_per_second * share)) {
    const std::string number = std::to_string(++names_);
    start_activator({"activator-" + number, "10.0.0." + number + ":8012"});
  }
}

// It drains and goes; mostly it is a restart, and the same one comes again.
void Run::retire(SimActivator& activator) {
  platform_.list_activator(activator.identity().address, false);
  activator.drain();
  if (!scene_.timeline.happens(0.7)) return;
  const auto come_again = [this, &activator](const auto& again) -> void {
    scene_.timeline.after(scene_.timeline.draw(kRestart), [this, &activator, again] {
      activator.alive() ? again(again) : start_activator(activator.identity());
    });
  };
  come_again(come_again);
}

void Run::look() {
  scene_.timeline.after(kLookPeriod, [this] { look(); });
  check_stranded();
  const bool rest = !scene_.faulty() && at_rest() && converged();
  looks_at_rest_ = rest ? looks_at_rest_ + 1 : 0;
}

void Run::check_stranded() {
  for (std::size_t revision = 0; revision < platform_.revisions(); ++revision) {
    bool held = false;
    for (const SimActivator* activator : activators(false)) {
      held = held || (activator->linked() && activator->waiting(revision) > 0);
      const bool unserved = activator->waiting(revision) > 0 && activator->pods(revision) == 0 &&
                            platform_.serves_for(revision, ScaleWatch::kKnownMax);
      scene_.watch.unserved(activator->run_name(), Platform::id(revision), unserved,
                            scene_.timeline.now());
    }
    scene_.watch.stranded(
        Platform::id(revision),
        held && autoscaler_ != nullptr && platform_.live(revision) == 0 && !scene_.short_of_room(),
        scene_.timeline.now());
  }
}

std::uint64_t Run::wanted() const {
  std::uint64_t sum = 0;
  for (std::size_t revision = 0; revision < platform_.revisions(); ++revision) {
    const std::optional<ScaleLine>& scale = platform_.scale(revision);
    if (scale) sum += static_cast<std::uint64_t>(scale->replicas);
  }
  return sum;
}

bool Run::at_rest() const {
  return scene_.ledger.open() == 0 && platform_.existing() == 0 && wanted() == 0 &&
         autoscaler_ != nullptr;
}

bool Run::converged() const {
  for (const SimActivator* activator : activators(false)) {
    if (!activator->linked()) return false;
    for (std::size_t revision = 0; revision < platform_.revisions(); ++revision) {
      ScaleWatch watch{Duration{0}};
      if (scene_.world.websocket) continue;
      watch.converged(activator->identity().name, Platform::id(revision),
                      activator->state(revision), autoscaler_->state(revision));
      if (!watch.breach().empty()) return false;
    }
  }
  return true;
}

void Run::check_rest() {
  scene_.ledger.check_closed();
  scene_.watch.left_over("pods", platform_.existing());
  scene_.watch.left_over("wanted pods", wanted());
  for (const SimActivator* activator : activators(false)) {
    scene_.watch.left_over("requests in flight",
                           static_cast<std::uint64_t>(activator->in_flight()));
    scene_.watch.left_over("unconnected activators", activator->linked() ? 0 : 1);
    for (std::size_t revision = 0; revision < platform_.revisions(); ++revision) {
      if (scene_.world.websocket || autoscaler_ == nullptr) continue;
      scene_.watch.converged(activator->identity().name, Platform::id(revision),
                             activator->state(revision), autoscaler_->state(revision));
    }
  }
  (void)broken();
}

bool Run::broken() {
  const std::string& breach =
      scene_.ledger.breach().empty() ? scene_.watch.breach() : scene_.ledger.breach();
  if (breach.empty()) return false;
  scene_.outcome.breach = scene_.world.shape + " " + std::to_string(scene_.world.seed) + " at " +
                          std::to_string(to_seconds(scene_.timeline.since_start())) +
                          " s: " + breach;
  return true;
}

void Run::account() {
  const Ledger::Counts& counts = scene_.ledger.counts();
  ActivatorsOutcome& outcome = scene_.outcome;
  outcome.sent = counts.sent;
  outcome.answered = counts.answered;
  outcome.refused = counts.refusals();
  outcome.cut = counts.cut;
  outcome.left = counts.left;
  outcome.retried = counts.retried;
  outcome.waited = counts.waited;
  for (const auto& [reason, count] : counts.refused) {
    outcome.refused_by[std::string(name(reason))] += count;
  }
}

}  // namespace

ActivatorsOutcome play(const ActivatorsWorld& world) {
  return Run{world}.play();
}

}  // namespace sluice::simulation
