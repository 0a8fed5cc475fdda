#include "platform/process/machine_memory.h"

#include "memory-pressure/io/cgroup_files.h"
#include "memory-pressure/io/cgroup_mounts.h"
#include <algorithm>
#include <utility>

namespace sluice::local {
namespace {

constexpr std::string_view kFiles = "files:";
constexpr std::string_view kGroup = "cgroup:";
constexpr const char* kVariable = "SLUICE_MEMORY_SOURCE";

Problem cannot_read(const std::string& source) {
  return {std::string{kVariable} + "=" + source + " has no memory to read",
          "give proc, cgroup:PATH of a memory control group, or files:DIRECTORY with proc/meminfo "
          "in it"};
}

}  // namespace

Result<MachineMemory, Problem> MachineMemory::open(const std::string& source) {
  if (source.starts_with(kGroup)) {
    auto sense = node_agent::MemorySense::open(source);
    if (!sense) return cannot_read(source);
    return MachineMemory{std::move(*sense)};
  }
  const bool files = source.starts_with(kFiles);
  if (!files && !source.empty() && source != "proc") return cannot_read(source);
  const std::string root = files ? source.substr(kFiles.size()) : std::string{};
  if (files && root.empty()) return cannot_read(source);
  auto sense = node_agent::MemorySense::open("proc", root);
  if (!sense) return files ? cannot_read(source) : sense.error();
  MachineMemory memory{std::move(*sense)};
  memory.add_own_groups(root);
  return memory;
}

// A limit may stand at any of the groups above this process, and may be set later.
void MachineMemory::add_own_groups(const std::string& root) {
  const node_agent::CgroupMounts mounts = node_agent::find_cgroup_mounts(root);
  const auto paths = node_agent::own_cgroup_paths(mounts, root);
  if (!mounts.memory || !paths || !paths->memory.starts_with('/')) return;
  std::string path = paths->memory;
  while (true) {
    const std::string directory = mounts.memory.directory(path);
    if (!directory.empty()) {
      node_agent::MemoryGroup group{directory, mounts.memory.v2};
      if (group.limit()) groups_.push_back(std::move(group));
    }
    if (path == "/") return;
    path.resize(std::max<std::size_t>(1, path.rfind('/')));
  }
}

std::optional<node_agent::NodeMemory> MachineMemory::read() {
  auto memory = sense_.read();
  if (!memory) return memory;
  const std::int64_t machine = memory->capacity;
  for (node_agent::MemoryGroup& group : groups_) {
    const auto limit = group.limit();
    if (!limit || *limit <= 0 || *limit >= machine) continue;
    const auto used = group.working_set();
    if (!used) continue;
    const std::int64_t left = *limit - *used - group.swap();
    if (left >= memory->capacity - memory->used) continue;
    memory->capacity = *limit;
    memory->used = *limit - left;
  }
  return memory;
}

}  // namespace sluice::local
