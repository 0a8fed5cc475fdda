#pragma once

#include "autoscaler/core/recording/recorded_input.h"
#include "common/time/time_point.h"

#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::autoscaler {

/// Finds the changes of the replicas of a revision, for its recording.
class ReplicaWatch {
 public:
  struct Seen {
    std::string_view name;
    bool ready = false;
  };

  /// The replica is ordered to stop; a name that is not known changes nothing.
  void leaves(std::string_view name);

  /// What has happened since the last look, of replicas that are no more first.
  [[nodiscard]] std::vector<ReplicaNote> look(std::span<const Seen> replicas, TimePoint now);

 private:
  struct Known {
    bool ready = false;
    bool leaves = false;
    bool there = true;
    TimePoint since{};  // it has started, or was lost
  };

  std::map<std::string, Known, std::less<>> known_;
};

}  // namespace sluice::autoscaler
