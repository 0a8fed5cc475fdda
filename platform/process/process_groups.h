#pragma once

#include "common/time/time_point.h"

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <sys/types.h>
#include <vector>

namespace sluice::local {

/// What process groups use, read often: who is in a group is looked up now and then, their figures
/// at each reading. No walk over all processes of the machine where the kernel lists children.
class ProcessGroups {
 public:
  /// Finds the processes of the groups that `leaders` lead. They descend from this process, as
  /// orphans among them do by way of the sub-reaper.
  void look(const std::set<pid_t>& leaders);

  /// Sum of the resident sizes of a group, in bytes; absent: no process of it is known.
  [[nodiscard]] std::optional<std::int64_t> bytes(pid_t leader) const;

  /// Processor time that a group has had, with that of children for which it has waited; absent: no
  /// process of it is known. Falls when another of its processes ends.
  [[nodiscard]] std::optional<Duration> cpu_time(pid_t leader) const;

  /// Whether the last look has found the group.
  [[nodiscard]] bool knows(pid_t leader) const { return members_.contains(leader); }

 private:
  void descend(pid_t process, pid_t leader);

  std::map<pid_t, std::vector<pid_t>> members_;
};

}  // namespace sluice::local
