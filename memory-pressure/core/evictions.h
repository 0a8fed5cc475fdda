#pragma once

#include "common/time/time_point.h"

#include "memory-pressure/core/exit_cause.h"
#include "memory-pressure/core/node.h"
#include <map>
#include <optional>
#include <string>

namespace sluice::node_agent {

/// Tells the kubelet's evictions from other ends of pods (memory-pressure.md 9, row 66). CRI has no
/// word for them: what can be seen is a pod whose sandbox is taken down after another program has
/// killed a container of it, while memory was short a moment ago. A pod that is deleted just then
/// looks the same, and an evicted one whose containers end well on SIGTERM does not.
class Evictions {
 public:
  /// Used memory was above the threshold at `now`.
  void short_of_memory(TimePoint now) { short_at_ = now; }

  /// A container has ended. The answer of both: a pod was evicted, reported once per pod, whichever
  /// of the two comes last.
  [[nodiscard]] bool container_ended(const std::string& pod_uid, const Ending& ending,
                                     TimePoint now);

  /// The sandbox of a pod is no longer ready.
  [[nodiscard]] bool pod_ended(const std::string& pod_uid, TimePoint now);

 private:
  struct Pod {
    bool ended = false;
    bool killed = false;  ///< a container of it, by another program
    bool spared = false;  ///< one of its ends has another cause: it is no eviction
    TimePoint at;         ///< of the last news
  };

  Pod* known(const std::string& uid, TimePoint now);
  [[nodiscard]] bool conclude(Pod& pod, TimePoint now) const;

  std::map<std::string, Pod> pods_;  ///< that had news lately
  std::optional<TimePoint> short_at_;
};

}  // namespace sluice::node_agent
