#pragma once

#include <string>
#include <string_view>

namespace sluice::node_agent {

/// Where one hierarchy of control groups is mounted, and which of its groups is at the mount point.
struct CgroupMount {
  std::string point;     ///< directory; empty: it is not mounted
  std::string top{"/"};  ///< the path of the group that is seen at `point`
  bool v2 = false;

  [[nodiscard]] explicit operator bool() const { return !point.empty(); }

  /// The directory of the group `path`; empty when it is not below what is mounted.
  [[nodiscard]] std::string directory(std::string_view path) const;
};

/// Cgroup v1, v2 or both side by side, as mounted (memory-pressure.md 7; row 58).
struct CgroupMounts {
  CgroupMount memory;   ///< accounts memory
  CgroupMount cpu;      ///< bounds CPU time
  CgroupMount freezer;  ///< stops processes; in v2 that is the hierarchy's own affair
  CgroupMount unified;  ///< the v2 hierarchy, if there is any: stalls per container

  /// `v1`, `v2`, `hybrid` or `none`.
  [[nodiscard]] std::string_view kind() const;
};

/// Reads `/proc/self/mountinfo` below `root`, and whether the v2 hierarchy has the controllers.
/// `root` is empty but for trees that a test has made.
[[nodiscard]] CgroupMounts find_cgroup_mounts(const std::string& root = {});

}  // namespace sluice::node_agent
