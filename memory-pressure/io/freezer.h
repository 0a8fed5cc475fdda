#pragma once

#include "memory-pressure/core/action.h"
#include "memory-pressure/io/cgroup_mounts.h"
#include <optional>
#include <string>

namespace sluice::node_agent {

/// Stops the processes of control groups and lets them run on: by a file of the kernel's, which no
/// runtime rewrites. What is stopped takes no memory and no CPU, and SIGTERM only once it runs on.
class Freezer {
 public:
  explicit Freezer(CgroupMount mount) : mount_{std::move(mount)} {}

  /// Freezes `group`, a path in this hierarchy, or thaws it. `ok` says that the kernel has taken
  /// it, not that every process has stopped yet; `not_found` that there is no such group.
  [[nodiscard]] Outcome set(const std::string& group, bool frozen) const;

  /// Whether `group` itself is to be frozen; absent: unreadable.
  [[nodiscard]] std::optional<bool> frozen(const std::string& group) const;

 private:
  CgroupMount mount_;
};

}  // namespace sluice::node_agent
