#include "tests/unit/memory-pressure/io/fixture_tree.h"

#include "common/base/check.h"

#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <sys/stat.h>
#include <unistd.h>

namespace sluice::node_agent::testing {
namespace {

constexpr const char* kV1 =
    "30 25 0:26 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory\n"
    "31 25 0:27 / /sys/fs/cgroup/cpu,cpuacct rw,relatime shared:9 - cgroup cgroup rw,cpu,cpuacct\n"
    "33 25 0:29 / /sys/fs/cgroup/freezer rw,relatime - cgroup cgroup rw,freezer\n";
constexpr const char* kUnified = "32 25 0:28 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";
constexpr const char* kV2 = "32 25 0:28 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw,nsdelegate\n";

}  // namespace

FixtureTree::FixtureTree(Hierarchy hierarchy) : hierarchy_{hierarchy} {
  std::string name = (std::filesystem::temp_directory_path() / "sluice-node-XXXXXX").string();
  CHECK(::mkdtemp(name.data()) != nullptr);
  root_ = name;
  const std::string other = "22 1 8:1 / / rw - ext4 /dev/sda rw\n";
  switch (hierarchy) {
    case Hierarchy::v1:
      put("/proc/self/mountinfo", other + kV1);
      break;
    case Hierarchy::v2:
      put("/proc/self/mountinfo", other + kV2);
      put("/sys/fs/cgroup/cgroup.controllers", "cpuset cpu io memory pids\n");
      break;
    case Hierarchy::hybrid:
      put("/proc/self/mountinfo", other + kV1 + kUnified);
      put("/sys/fs/cgroup/unified/cgroup.controllers", "\n");
      break;
  }
  set_meminfo(1024, 1024);
}

FixtureTree::~FixtureTree() {
  std::error_code ignored;
  std::filesystem::remove_all(root_, ignored);
}

void FixtureTree::put(const std::string& path, const std::string& content) const {
  const std::filesystem::path file{root_ + path};
  std::filesystem::create_directories(file.parent_path());
  // Cut to size at the end: a concurrent reader never finds it empty, as in the kernel.
  const int descriptor = ::open(file.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, S_IRUSR | S_IWUSR);
  CHECK(descriptor >= 0);
  const auto size = static_cast<ssize_t>(content.size());
  CHECK(::pwrite(descriptor, content.data(), content.size(), 0) == size);
  CHECK(::ftruncate(descriptor, size) == 0);
  ::close(descriptor);
}

void FixtureTree::remove(const std::string& path) const {
  std::filesystem::remove_all(root_ + path);
}

std::string FixtureTree::get(const std::string& path) const {
  std::ostringstream text;
  text << std::ifstream{root_ + path}.rdbuf();
  return text.str();
}

void FixtureTree::set_meminfo(std::int64_t total_mib, std::int64_t available_mib,
                              std::int64_t swap_used_mib) const {
  const auto line = [](const char* key, std::int64_t mib) {
    return std::string{key} + ":      " + std::to_string(mib * 1024) + " kB\n";
  };
  put("/proc/meminfo", line("MemTotal", total_mib) + line("MemFree", 1) +
                           line("MemAvailable", available_mib) + line("SwapTotal", 4096) +
                           line("SwapFree", 4096 - swap_used_mib));
}

std::string FixtureTree::memory_directory(const std::string& group) const {
  return (hierarchy_ == Hierarchy::v2 ? "/sys/fs/cgroup" : "/sys/fs/cgroup/memory") + group;
}

std::string FixtureTree::cpu_directory(const std::string& group) const {
  return (hierarchy_ == Hierarchy::v2 ? "/sys/fs/cgroup" : "/sys/fs/cgroup/cpu,cpuacct") + group;
}

void FixtureTree::set_memory(const std::string& group, const Memory& memory) const {
  const std::string at = memory_directory(group);
  const std::string used = std::to_string(memory.used_mib * kMiB) + "\n";
  const std::string cold = std::to_string(memory.cold_mib * kMiB) + "\n";
  if (hierarchy_ == Hierarchy::v2) {
    put(at + "/memory.current", used);
    put(at + "/memory.stat", "anon 1\nfile 2\ninactive_file " + cold);
    put(at + "/memory.max",
        memory.limit_mib == 0 ? "max\n" : std::to_string(memory.limit_mib * kMiB) + "\n");
    put(at + "/memory.swap.current", std::to_string(memory.swap_mib * kMiB) + "\n");
    return;
  }
  put(at + "/memory.usage_in_bytes", used);
  put(at + "/memory.stat", "cache 1\ninactive_file 0\ntotal_swap " +
                               std::to_string(memory.swap_mib * kMiB) + "\ntotal_inactive_file " +
                               cold);
  put(at + "/memory.limit_in_bytes", memory.limit_mib == 0
                                         ? "9223372036854771712\n"
                                         : std::to_string(memory.limit_mib * kMiB) + "\n");
}

void FixtureTree::set_quota(const std::string& group, std::int64_t quota,
                            std::int64_t period) const {
  const std::string at = cpu_directory(group);
  if (hierarchy_ == Hierarchy::v2) {
    put(at + "/cpu.max",
        (quota < 0 ? "max" : std::to_string(quota)) + " " + std::to_string(period) + "\n");
    return;
  }
  put(at + "/cpu.cfs_quota_us", std::to_string(quota) + "\n");
  put(at + "/cpu.cfs_period_us", std::to_string(period) + "\n");
}

std::int64_t FixtureTree::quota(const std::string& group) const {
  const bool v2 = hierarchy_ == Hierarchy::v2;
  const std::string text = get(cpu_directory(group) + (v2 ? "/cpu.max" : "/cpu.cfs_quota_us"));
  return text.starts_with("max") ? -1 : std::stoll(text);
}

std::string FixtureTree::freezer_file(const std::string& group) const {
  return hierarchy_ == Hierarchy::v2 ? "/sys/fs/cgroup" + group + "/cgroup.freeze"
                                     : "/sys/fs/cgroup/freezer" + group + "/freezer.state";
}

void FixtureTree::set_frozen(const std::string& group, bool frozen) const {
  const bool v2 = hierarchy_ == Hierarchy::v2;
  put(v2 ? freezer_file(group) : "/sys/fs/cgroup/freezer" + group + "/freezer.self_freezing",
      frozen ? "1\n" : "0\n");
}

void FixtureTree::set_processes(const std::string& group, const std::string& pids) const {
  put(memory_directory(group) + "/cgroup.procs", pids);
}

void FixtureTree::set_process(int pid, const std::string& group) const {
  std::string text = "0::" + group + "\n";
  if (hierarchy_ != Hierarchy::v2) {
    text = "6:freezer:" + group + "\n5:memory:" + group + "\n4:cpu,cpuacct:" + group + "\n" + text;
  }
  put("/proc/" + std::to_string(pid) + "/cgroup", text);
}

}  // namespace sluice::node_agent::testing
