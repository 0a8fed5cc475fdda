#pragma once

#include "common/base/result.h"
#include "common/time/time_point.h"

#include "memory-pressure/core/node.h"
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

namespace sluice::local {

enum class CgroupKind { none, v1, v2 };

struct CgroupLimits {
  std::optional<double> cpu;           ///< cores
  std::optional<std::int64_t> memory;  ///< bytes
};

/// The part of the cgroup tree that is ours to divide (one-machine.md 6): a delegated v2 subtree,
/// else a writable v1 tree, else nothing. One child group per replica; sidecars stay outside.
class CgroupTree {
 public:
  /// No tree at all: create() gives no directories and sets no limit.
  CgroupTree() = default;

  /// Looks at where this process is and prepares the subtree; in v2 that moves this process into a
  /// leaf of its own. Groups of replicas live under a group named after `engine`
  /// and where it runs.
  [[nodiscard]] static CgroupTree detect(const std::string& engine, std::string_view runtime_dir);

  /// A v1 or v2 tree at given places (v2: one directory; v1: memory, then cpu; empty = absent).
  CgroupTree(CgroupKind kind, std::filesystem::path memory_root, std::filesystem::path cpu_root);

  [[nodiscard]] CgroupKind kind() const { return kind_; }

  /// Whether limits of memory and of CPU can be set.
  [[nodiscard]] bool can_limit_memory() const;
  [[nodiscard]] bool can_limit_cpu() const;

  /// For `doctor`: what was found, or how to get one.
  [[nodiscard]] std::string description() const;

  /// Makes the group of a replica with its limits and returns the directories a process joins (one
  /// per hierarchy; none without a tree).
  [[nodiscard]] Result<std::vector<std::filesystem::path>, Problem> create(
      const std::string& replica, const CgroupLimits& limits) const;

  /// Makes a group with limits for the groups of several replicas, and returns the tree in it. What
  /// an earlier engine has left of it goes first.
  [[nodiscard]] Result<CgroupTree, Problem> divide(const std::string& group,
                                                   const CgroupLimits& limits) const;

  /// Removes the group once its processes are gone; kills what is still in it.
  void remove(const std::string& replica) const;

  /// Removes the groups of divide(), those of replicas that a crash left behind, and our own once
  /// they are empty.
  void clear() const;

  /// Memory charged to the group, in bytes.
  [[nodiscard]] std::optional<std::int64_t> memory_bytes(const std::string& replica) const;

  /// Processor time that the group has had; absent: it has none, or its tree is v1.
  [[nodiscard]] std::optional<Duration> cpu_time(const std::string& replica) const;

  /// How many processes of the group the kernel has killed at its memory limit.
  [[nodiscard]] std::int64_t oom_kills(const std::string& replica) const;

  /// The directory of a replica's group where CPU is limited; empty when it cannot be.
  [[nodiscard]] std::filesystem::path cpu_directory(const std::string& replica) const;

  /// The directory where a replica's memory is counted; empty when it is not.
  [[nodiscard]] std::filesystem::path memory_directory(const std::string& replica) const {
    return memory_root_.empty() ? memory_root_ : memory_root_ / replica;
  }

  /// Makes the group of a running replica where CPU can be limited and moves its processes there:
  /// for a replica that was started without a group. Costs the kernel some 10 ms per process.
  [[nodiscard]] std::optional<Problem> adopt(const std::string& replica, pid_t group) const;

  /// The CPU quota that the kernel enforces on a replica's group; absent: it has none, or it cannot
  /// be read.
  [[nodiscard]] std::optional<node_agent::CpuQuota> cpu_quota(const std::string& replica) const;

  /// Sets it; -1 lifts it. 0, or the errno of the first write that failed: the other may have had
  /// its effect.
  [[nodiscard]] int set_cpu_quota(const std::string& replica,
                                  const node_agent::CpuQuota& quota) const;

 private:
  [[nodiscard]] std::optional<Problem> set_limits(const std::filesystem::path& memory,
                                                  const std::filesystem::path& cpu,
                                                  const CgroupLimits& limits) const;
  void remove_all(const std::string& group) const;

  CgroupKind kind_ = CgroupKind::none;
  std::filesystem::path memory_root_;  // v2: the only one
  std::filesystem::path cpu_root_;     // v2: the same
};

}  // namespace sluice::local
