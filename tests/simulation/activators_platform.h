#pragma once

#include "common/base/ids.h"
#include "tests/simulation/activators_pod.h"
#include "tests/simulation/activators_scene.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace sluice::simulation {

/// A pod in a revision's file.
struct PodLine {
  std::string name;
  std::string dest;
  bool ready = false;
  bool terminating = false;
};

/// A revision's scale file.
struct ScaleLine {
  std::int32_t replicas = 0;
  std::vector<std::string> remove = {};

  friend bool operator==(const ScaleLine&, const ScaleLine&) = default;
};

/// The program that starts and stops processes by the directory form (protocols.md 9): it follows
/// the scale files, starts crashed pods again, and keeps the files that the programs read.
class Platform {
 public:
  explicit Platform(Scene& scene);

  [[nodiscard]] std::size_t revisions() const { return revisions_.size(); }

  [[nodiscard]] static RevisionId id(std::size_t revision) {
    return {"default", "app-" + std::to_string(revision)};
  }

  [[nodiscard]] std::optional<std::size_t> index_of(const RevisionId& revision) const;

  // --- files; what a reader sees is up to when it reads ---

  [[nodiscard]] const std::vector<PodLine>& pods(std::size_t revision) const {
    return revisions_[revision].file;
  }

  [[nodiscard]] const std::vector<std::string>& activators() const { return activators_; }

  /// Absent while none was written.
  [[nodiscard]] const std::optional<ScaleLine>& scale(std::size_t revision) const {
    return revisions_[revision].scale;
  }

  void write_scale(std::size_t revision, ScaleLine line);
  void list_activator(const std::string& address, bool listed);

  /// Called when a file has changed.
  std::function<void(std::size_t)> on_pods;
  std::function<void()> on_activators;

  /// How long a program takes to see a changed file.
  [[nodiscard]] Duration file_delay();

  // --- pods ---

  /// Null when nothing is, or was, there.
  [[nodiscard]] SimulatedPod* at(const std::string& dest) const;

  /// Pods that exist and were not told to go.
  [[nodiscard]] std::size_t live(std::size_t revision) const;

  /// Whether a pod that was not told to go has served for so long.
  [[nodiscard]] bool serves_for(std::size_t revision, Duration length) const;

  /// Pods of all revisions that exist.
  [[nodiscard]] std::size_t existing() const;

  /// There is room again.
  void start_missing();

  /// Some pods die, each with this chance.
  void kill_some(double chance);

 private:
  struct Revision {
    std::optional<ScaleLine> scale{};
    std::vector<PodLine> file{};
    std::map<std::string, SimulatedPod*> pods{};  // by name; those that exist
  };

  void obey(std::size_t revision);
  void start(std::size_t revision);
  void show(std::size_t revision, const std::string& name);
  void bury(std::size_t revision, const std::string& name);
  [[nodiscard]] PodLine* line(std::size_t revision, const std::string& name);

  Scene& scene_;
  std::vector<Revision> revisions_;
  std::vector<std::string> activators_;
  std::vector<std::unique_ptr<SimulatedPod>> pods_;  // all there ever were
  std::map<std::string, SimulatedPod*> by_dest_;
};

}  // namespace sluice::simulation
