#include "memory-pressure/io/own_weight.h"

#include "memory-pressure/io/cgroup_files.h"
#include <sys/resource.h>
#include <unistd.h>

namespace sluice::node_agent {
namespace {

constexpr int kNice = -10;
constexpr const char* kWeight = "1000";   // of v2, where others have 100
constexpr const char* kShares = "10240";  // of v1, where others have 1024

}  // namespace

void raise_own_priority() {
  ::setpriority(PRIO_PROCESS, 0, kNice);
}

// A group with other processes, such as the shell that started us, is not ours to raise.
bool raise_own_weight(const std::string& root) {
  const CgroupMounts mounts = find_cgroup_mounts(root);
  const auto own = own_cgroup_paths(mounts, root);
  const std::string directory = own ? mounts.cpu.directory(own->cpu) : std::string{};
  if (directory.empty() || directory == mounts.cpu.point) return false;
  std::string buffer;
  KernelFile processes{directory + "/cgroup.procs"};
  const auto listed = processes.read(buffer);
  if (!listed || *listed != std::to_string(::getpid()) + "\n") return false;
  return mounts.cpu.v2 ? write_kernel_file(directory + "/cpu.weight", kWeight) == 0
                       : write_kernel_file(directory + "/cpu.shares", kShares) == 0;
}

}  // namespace sluice::node_agent
