#pragma once

#include "common/base/result.h"

#include "memory-pressure/io/memory_sense.h"
#include <optional>
#include <string>
#include <vector>

namespace sluice::local {

/// The memory that an engine and its replicas share with all other processes: the machine's, or
/// that of a control group above the engine, whichever has less left.
class MachineMemory {
 public:
  /// `source`: `proc`, also when empty; `cgroup:PATH`, a control group that plays the machine; or
  /// `files:DIRECTORY`, which holds a `proc` of its own (`proc/meminfo`, `proc/pressure/memory`),
  /// for tests. The problem names SLUICE_MEMORY_SOURCE, where it comes from.
  [[nodiscard]] static Result<MachineMemory, Problem> open(const std::string& source);

  /// One sample; absent: it cannot be read now.
  [[nodiscard]] std::optional<node_agent::NodeMemory> read();

  /// What is read: `/proc`, or `cgroup v1 /sys/fs/cgroup/memory/n1`.
  [[nodiscard]] const std::string& shown() const { return sense_.shown(); }

 private:
  explicit MachineMemory(node_agent::MemorySense sense) : sense_(std::move(sense)) {}

  void add_own_groups(const std::string& root);

  node_agent::MemorySense sense_;
  std::vector<node_agent::MemoryGroup> groups_;  // that this process is in, the innermost first
};

}  // namespace sluice::local
