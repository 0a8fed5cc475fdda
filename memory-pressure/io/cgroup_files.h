#pragma once

#include "memory-pressure/core/node.h"
#include "memory-pressure/io/cgroup_mounts.h"
#include "memory-pressure/io/kernel_file.h"
#include "memory-pressure/io/memory_sense.h"
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <sys/types.h>

namespace sluice::node_agent {

/// Which groups a process is in.
struct CgroupPaths {
  std::string memory;   ///< in the hierarchy that accounts memory; empty: unknown
  std::string cpu;      ///< in the one that bounds CPU time
  std::string freezer;  ///< in the one that stops processes
  std::string unified;  ///< in the v2 hierarchy
};

/// Reads `/proc/<pid>/cgroup` below `root`. Absent: no such process, or it may not be looked at.
[[nodiscard]] std::optional<CgroupPaths> cgroup_paths(pid_t pid, const CgroupMounts& mounts,
                                                      const std::string& root = {});

/// The same for this program.
[[nodiscard]] std::optional<CgroupPaths> own_cgroup_paths(const CgroupMounts& mounts,
                                                          const std::string& root = {});

/// What the kernel keeps of one container, read from its control group.
class CgroupFiles {
 public:
  CgroupFiles(const CgroupPaths& paths, const CgroupMounts& mounts);

  /// Bytes, swap included; absent: unreadable.
  [[nodiscard]] std::optional<std::int64_t> working_set();

  /// Bytes; 0: none; absent: unreadable.
  [[nodiscard]] std::optional<std::int64_t> memory_limit();

  /// In force now; absent: unreadable.
  [[nodiscard]] std::optional<CpuQuota> quota();

  /// The parent group's quota, over `period_us`; -1: it has none, or is unreadable.
  [[nodiscard]] std::int64_t parent_quota(std::int64_t period_us);

  /// Puts a quota in force, as far as the kernel takes it; false: not whole. The runtime gets it
  /// as well, or its next update undoes this one.
  bool set_quota(const CpuQuota& quota);

  /// Lets the kernel take memory back from the group above so many bytes, v2 only, where none but
  /// us has set a bound; 0 lifts ours.
  void set_high(std::int64_t bytes);

  /// Processes in the group, 0 of one that is gone; absent: unreadable, or they are in groups
  /// below.
  [[nodiscard]] std::optional<std::uint32_t> processes() const;

  /// Asks the kernel to take `bytes` of cold pages back, v2 only; false: it cannot.
  bool reclaim(std::int64_t bytes);

 private:
  MemoryGroup memory_;
  bool cpu_v2_;
  KernelFile quota_;   // v2: both numbers
  KernelFile period_;  // v1 only
  KernelFile parent_quota_;
  KernelFile parent_period_;
  std::string cpu_directory_;
  std::string memory_directory_;
  bool memory_v2_;
  std::string buffer_;
};

/// The numbers of v1's cpu.cfs_quota_us and cpu.cfs_period_us; absent: one is, or they are none
/// that the kernel gives.
[[nodiscard]] std::optional<CpuQuota> quota_of_cfs(std::optional<std::int64_t> quota,
                                                   std::optional<std::int64_t> period);

/// `25000 100000` or `max 100000`, the content of v2's cpu.max.
[[nodiscard]] std::optional<CpuQuota> parse_cpu_max(std::string_view text);

}  // namespace sluice::node_agent
