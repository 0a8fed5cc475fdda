#pragma once

#include "common/base/result.h"

#include "platform/process/cgroup.h"
#include "platform/process/machine_group.h"
#include <map>
#include <span>
#include <string>
#include <vector>

namespace sluice::local {

/// The control groups of the machine's groups: one above those of its replicas for each that has
/// `cpu` or `memory`, where the machine's tree can limit them.
class PlaceGroups {
 public:
  /// `machine` outlives this, and removes the groups with clear().
  explicit PlaceGroups(const CgroupTree& machine) : machine_{machine} {}

  /// Makes them, once. A problem for each reason for which limits of groups are only accounted;
  /// the other groups have theirs.
  [[nodiscard]] std::vector<Problem> make(std::span<const MachineGroup> groups);

  /// Whether the replicas of a group have limits in common: then each needs a group of its own in
  /// tree_of().
  [[nodiscard]] bool is_limited(const std::string& group) const { return trees_.contains(group); }

  /// Where the replicas of a group have their own.
  [[nodiscard]] const CgroupTree& tree_of(const std::string& group) const;

 private:
  const CgroupTree& machine_;
  std::map<std::string, CgroupTree> trees_;  // of those that are limited
};

}  // namespace sluice::local
