#include "tests/simulation/activators_platform.h"

#include <algorithm>
#include <utility>

namespace sluice::simulation {

namespace {

// Between a change of a pod and its file.
constexpr Between kNoticed{std::chrono::milliseconds{5}, std::chrono::seconds{1}};
constexpr Between kRestart{std::chrono::milliseconds{50}, std::chrono::seconds{1}};

}  // namespace

Platform::Platform(Scene& scene)
    : scene_(scene), revisions_(static_cast<std::size_t>(scene.world.revisions)) {}

Duration Platform::file_delay() {
  const ActivatorsWorld& world = scene_.world;
  const bool late = scene_.strikes(world.faults.share_late_files);
  return scene_.timeline.draw(late ? world.late_file : world.file);
}

std::optional<std::size_t> Platform::index_of(const RevisionId& revision) const {
  for (std::size_t index = 0; index < revisions_.size(); ++index) {
    if (id(index) == revision) return index;
  }
  return std::nullopt;
}

void Platform::write_scale(std::size_t revision, ScaleLine scale) {
  const std::int32_t before = revisions_[revision].scale.value_or(ScaleLine{}).replicas;
  const std::int32_t after = scale.replicas;
  revisions_[revision].scale = std::move(scale);
  if (before == 0 && after > 0) ++scene_.outcome.wakes;
  if (before > 0 && after == 0) ++scene_.outcome.sleeps;
  scene_.timeline.after(file_delay(), [this, revision] { obey(revision); });
}

void Platform::list_activator(const std::string& address, bool listed) {
  std::erase(activators_, address);
  if (listed) activators_.push_back(address);
  on_activators();
}

void Platform::obey(std::size_t index) {
  Revision& revision = revisions_[index];
  if (!revision.scale) return;
  for (const std::string& name : revision.scale->remove) {
    PodLine* pod = line(index, name);
    if (pod == nullptr || pod->terminating) continue;
    pod->terminating = true;
    ++scene_.outcome.pods_removed;
    const auto exists = revision.pods.find(name);
    if (exists != revision.pods.end()) exists->second->drain();
    on_pods(index);
  }
  if (scene_.short_of_room()) return;
  while (live(index) < static_cast<std::size_t>(revision.scale->replicas)) start(index);
}

void Platform::start(std::size_t index) {
  const std::uint64_t number = pods_.size() + 1;
  ++scene_.outcome.pods_started;
  pods_.push_back(
      std::make_unique<SimulatedPod>(scene_, number, scene_.world.container_concurrency));
  SimulatedPod* pod = pods_.back().get();
  by_dest_[pod->dest()] = pod;
  revisions_[index].pods[pod->name()] = pod;
  revisions_[index].file.push_back({.name = pod->name(), .dest = pod->dest()});
  pod->on_health = [this, index, pod] {
    scene_.timeline.after(scene_.timeline.draw(kNoticed),
                          [this, index, pod] { show(index, pod->name()); });
  };
  pod->on_gone = [this, index, pod] {
    scene_.timeline.after(scene_.timeline.draw(kNoticed),
                          [this, index, pod] { bury(index, pod->name()); });
  };
  const bool fails = scene_.strikes(scene_.world.faults.share_failed_starts);
  const bool slow = scene_.strikes(scene_.world.faults.share_slow_starts);
  const Duration needed = scene_.timeline.draw(scene_.world.start) * (slow ? 10 : 1);
  scene_.timeline.after(needed, [pod, fails] { fails ? pod->kill() : pod->become_ready(); });
  on_pods(index);
}

void Platform::show(std::size_t index, const std::string& name) {
  PodLine* pod = line(index, name);
  const auto exists = revisions_[index].pods.find(name);
  if (pod == nullptr || exists == revisions_[index].pods.end()) return;
  pod->ready = exists->second->health() == PodHealth::ready;
  on_pods(index);
}

void Platform::bury(std::size_t index, const std::string& name) {
  Revision& revision = revisions_[index];
  revision.pods.erase(name);
  std::erase_if(revision.file, [&name](const PodLine& pod) { return pod.name == name; });
  on_pods(index);
  scene_.timeline.after(scene_.timeline.draw(kRestart), [this, index] { obey(index); });
}

PodLine* Platform::line(std::size_t index, const std::string& name) {
  std::vector<PodLine>& file = revisions_[index].file;
  const auto found = std::find_if(file.begin(), file.end(),
                                  [&name](const PodLine& pod) { return pod.name == name; });
  return found == file.end() ? nullptr : &*found;
}

SimulatedPod* Platform::at(const std::string& dest) const {
  const auto found = by_dest_.find(dest);
  return found == by_dest_.end() ? nullptr : found->second;
}

std::size_t Platform::live(std::size_t revision) const {
  const std::vector<PodLine>& file = revisions_[revision].file;
  return static_cast<std::size_t>(
      std::count_if(file.begin(), file.end(), [](const PodLine& pod) { return !pod.terminating; }));
}

bool Platform::serves_for(std::size_t revision, Duration length) const {
  for (const PodLine& line : revisions_[revision].file) {
    const SimulatedPod* const pod = at(line.dest);
    if (!line.terminating && pod->health() == PodHealth::ready &&
        scene_.timeline.now() - pod->since() >= length) {
      return true;
    }
  }
  return false;
}

std::size_t Platform::existing() const {
  std::size_t count = 0;
  for (const Revision& revision : revisions_) count += revision.file.size();
  return count;
}

void Platform::start_missing() {
  for (std::size_t index = 0; index < revisions_.size(); ++index) obey(index);
}

void Platform::kill_some(double chance) {
  for (const auto& pod : pods_) {
    if (pod->gone() || !scene_.timeline.happens(chance)) continue;
    ++scene_.outcome.pods_killed;
    pod->kill();
  }
}

}  // namespace sluice::simulation
