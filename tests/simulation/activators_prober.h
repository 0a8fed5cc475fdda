#pragma once

#include "activator/core/destinations.h"
#include "common/time/time_point.h"
#include "tests/simulation/activators_platform.h"
#include "tests/simulation/activators_scene.h"

#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace sluice::simulation {

/// Probes the pods of one revision for one activator, and says which may be used.
class Prober {
 public:
  /// `now` reads the clock of the activator; `changed` is called when usable() is another, and
  /// `trusted` when a pod that was suspected has passed. Everything outlives this.
  Prober(Scene& scene, Platform& platform, std::function<TimePoint()> now,
         std::function<void()> changed, std::function<void(const std::string&)> trusted);

  /// The pods in the file, and what the platform says of each.
  void read(const std::vector<PodLine>& pods);

  /// A request could not be handed to the pod at `dest`.
  void suspect(const std::string& dest);

  [[nodiscard]] const std::set<std::string>& usable() const { return usable_; }

  /// The activator is no more.
  void stop() { stopped_ = true; }

 private:
  void take(const activator::DestinationChanges& changes);
  void probe_due();
  void probe(const activator::Probe& probe);
  void wait_for_answer(const activator::Probe& probe, SimulatedPod& pod);
  void answer(const activator::Probe& probe, Duration after, activator::ProbeResult result,
              Duration round_trip = Duration{0});
  void arm();

  Scene& scene_;
  Platform& platform_;
  std::function<TimePoint()> now_;
  std::function<void()> changed_;
  std::function<void(const std::string&)> trusted_;
  activator::Destinations destinations_;
  std::set<std::string> usable_;
  std::set<std::string> suspected_;
  std::set<std::uint64_t> under_way_;
  std::optional<TimePoint> alarm_;  // true time
  bool stopped_ = false;
};

}  // namespace sluice::simulation
