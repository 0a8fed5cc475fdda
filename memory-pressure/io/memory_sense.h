#pragma once

#include "common/base/result.h"

#include "memory-pressure/core/node.h"
#include "memory-pressure/io/cgroup_mounts.h"
#include "memory-pressure/io/kernel_file.h"
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace sluice::node_agent {

/// The files of one memory control group, v1 or v2.
class MemoryGroup {
 public:
  /// `directory`: of the group in the hierarchy that accounts memory.
  MemoryGroup(const std::string& directory, bool v2);

  /// In use and not reclaimable by dropping cold files; without swap. Page cache that was not
  /// used lately is not in it, tmpfs is (rows 38 and 39).
  [[nodiscard]] std::optional<std::int64_t> working_set();

  /// Swapped out; 0 when there is no swap or it is not accounted.
  [[nodiscard]] std::int64_t swap();

  /// Absent: it cannot be read. 0: no limit.
  [[nodiscard]] std::optional<std::int64_t> limit();

 private:
  bool v2_;
  KernelFile usage_;
  KernelFile stat_;
  KernelFile limit_;
  KernelFile swap_;
  std::string buffer_;
  std::int64_t swap_in_stat_ = 0;
};

/// The memory of the node out of /proc, or of a cgroup that plays one
/// (memory-pressure.md 1.1, 5.1).
class MemorySense {
 public:
  /// `source`: `proc` or `cgroup:PATH`, PATH a directory of the hierarchy that accounts memory or
  /// the group's own path. `root` as for find_cgroup_mounts. The problem names what is not there.
  [[nodiscard]] static Result<MemorySense, Problem> open(const std::string& source,
                                                         const std::string& root = {});

  /// One sample, everything read again (row 57). Absent: it cannot be read now (row 69).
  [[nodiscard]] std::optional<NodeMemory> read();

  /// What is read, for the log: `/proc`, or `cgroup v1 /sys/fs/cgroup/memory/n1`.
  [[nodiscard]] const std::string& shown() const { return shown_; }

  /// The group whose memory it is, its path in the hierarchy that accounts memory; empty: the
  /// machine's.
  [[nodiscard]] const std::string& group() const { return group_; }

  /// The file of stall information, where a trigger can be set; empty: the kernel has none for this
  /// memory (row 59).
  [[nodiscard]] const std::string& stall_path() const { return stall_.path(); }

 private:
  MemorySense(const std::string& root, KernelFile stall);

  [[nodiscard]] std::optional<NodeMemory> read_machine();
  [[nodiscard]] std::optional<NodeMemory> read_group(MemoryGroup& group, std::int64_t machine);
  [[nodiscard]] std::optional<Stall> read_stall();

  bool machine_ = true;  ///< whose memory it is: the machine's, or that of groups_[0] alone
  KernelFile meminfo_;
  std::vector<MemoryGroup> groups_;  ///< of the machine: what bounds all pods together
  KernelFile stall_;
  std::string shown_;
  std::string group_;
  std::string buffer_;
};

}  // namespace sluice::node_agent
