#include "memory-pressure/io/cgroup_files.h"

#include <algorithm>
#include <cerrno>
#include <limits>
#include <sstream>
#include <sys/stat.h>
#include <unistd.h>

namespace sluice::node_agent {
namespace {

// What is in memory.high is ours at sight: whole mebibytes and so many bytes, a multiple of a page.
constexpr std::int64_t kHighStep = std::int64_t{1} << 20;
constexpr std::int64_t kHighMark = 37 * 4096;

bool lists(std::string_view controllers, std::string_view wanted) {
  std::size_t at = 0;
  while (at <= controllers.size()) {
    const std::size_t end = controllers.find(',', at);
    if (controllers.substr(at, end - at) == wanted) return true;
    if (end == std::string_view::npos) break;
    at = end + 1;
  }
  return false;
}

std::optional<CgroupPaths> read_paths(const std::string& file, const CgroupMounts& mounts) {
  std::string buffer;
  KernelFile source{file};
  const auto text = source.read(buffer);
  if (!text) return std::nullopt;
  CgroupPaths paths;
  std::istringstream lines{std::string{*text}};
  for (std::string line; std::getline(lines, line);) {
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string_view controllers =
        std::string_view{line}.substr(first + 1, second - first - 1);
    const std::string path = line.substr(second + 1);
    if (controllers.empty()) paths.unified = path;
    if (lists(controllers, "memory")) paths.memory = path;
    if (lists(controllers, "cpu")) paths.cpu = path;
    if (lists(controllers, "freezer")) paths.freezer = path;
  }
  if (mounts.memory.v2) paths.memory = paths.unified;
  if (mounts.cpu.v2) paths.cpu = paths.unified;
  if (mounts.freezer.v2) paths.freezer = paths.unified;
  return paths;
}

std::string parent_of(const std::string& directory) {
  return directory.substr(0, directory.rfind('/'));
}

std::string directory_of(const CgroupMount& mount, const std::string& path) {
  return path.empty() ? std::string{} : mount.directory(path);
}

// A path that does not exist, where the directory is not known.
std::string in(const std::string& directory, const char* name) {
  return directory.empty() ? std::string{} : directory + name;
}

}  // namespace

std::optional<CgroupPaths> cgroup_paths(pid_t pid, const CgroupMounts& mounts,
                                        const std::string& root) {
  if (pid <= 0) return std::nullopt;
  return read_paths(root + "/proc/" + std::to_string(pid) + "/cgroup", mounts);
}

std::optional<CgroupPaths> own_cgroup_paths(const CgroupMounts& mounts, const std::string& root) {
  return read_paths(root + "/proc/self/cgroup", mounts);
}

std::optional<CpuQuota> parse_cpu_max(std::string_view text) {
  const std::size_t blank = text.find(' ');
  if (blank == std::string_view::npos) return std::nullopt;
  const auto quota = first_number(text.substr(0, blank));
  const auto period = first_number(text.substr(blank));
  if (!quota || !period || *period <= 0) return std::nullopt;
  const bool none = *quota == std::numeric_limits<std::int64_t>::max();
  return CpuQuota{.quota_us = none ? -1 : *quota, .period_us = *period};
}

std::optional<CpuQuota> quota_of_cfs(std::optional<std::int64_t> quota,
                                     std::optional<std::int64_t> period) {
  if (!quota || !period || *period <= 0) return std::nullopt;
  return CpuQuota{.quota_us = *quota <= 0 ? -1 : *quota, .period_us = *period};
}

CgroupFiles::CgroupFiles(const CgroupPaths& paths, const CgroupMounts& mounts)
    : memory_{directory_of(mounts.memory, paths.memory), mounts.memory.v2},
      cpu_v2_{mounts.cpu.v2},
      cpu_directory_{directory_of(mounts.cpu, paths.cpu)},
      memory_directory_{directory_of(mounts.memory, paths.memory)},
      memory_v2_{mounts.memory.v2} {
  const std::string& cpu = cpu_directory_;
  // The top group has no parent.
  const std::string parent = cpu.size() > mounts.cpu.point.size() ? parent_of(cpu) : std::string{};
  quota_ =
      KernelFile{in(cpu, cpu_v2_ ? "/cpu.max" : "/cpu.cfs_quota_us"), KernelFile::Made::at_once};
  parent_quota_ =
      KernelFile{in(parent, cpu_v2_ ? "/cpu.max" : "/cpu.cfs_quota_us"), KernelFile::Made::at_once};
  if (!cpu_v2_) {
    period_ = KernelFile{in(cpu, "/cpu.cfs_period_us"), KernelFile::Made::at_once};
    parent_period_ = KernelFile{in(parent, "/cpu.cfs_period_us"), KernelFile::Made::at_once};
  }
}

std::optional<std::int64_t> CgroupFiles::working_set() {
  const auto used = memory_.working_set();
  if (!used) return std::nullopt;
  return *used + memory_.swap();
}

std::optional<std::int64_t> CgroupFiles::memory_limit() {
  return memory_.limit();
}

std::optional<CpuQuota> CgroupFiles::quota() {
  const auto text = quota_.read(buffer_);
  if (!text) return std::nullopt;
  if (cpu_v2_) return parse_cpu_max(*text);
  const auto quota = first_number(*text);
  const auto period_text = period_.read(buffer_);
  return quota_of_cfs(quota, period_text ? first_number(*period_text) : std::nullopt);
}

std::int64_t CgroupFiles::parent_quota(std::int64_t period_us) {
  const auto text = parent_quota_.read(buffer_);
  if (!text) return -1;
  std::optional<CpuQuota> parent;
  if (cpu_v2_) {
    parent = parse_cpu_max(*text);
  } else {
    const auto quota = first_number(*text);
    const auto period = parent_period_.read(buffer_);
    if (quota && period) parent = CpuQuota{*quota, first_number(*period).value_or(0)};
  }
  if (!parent || parent->quota_us <= 0 || parent->period_us <= 0) return -1;
  // In floating point, since the product of two large settings might not fit.
  return static_cast<std::int64_t>(static_cast<double>(parent->quota_us) *
                                   static_cast<double>(period_us) /
                                   static_cast<double>(parent->period_us));
}

// v1 has two files, and refuses a pair that the parent's does not cover even in passing: the period
// goes first, and where that is refused the quota.
bool CgroupFiles::set_quota(const CpuQuota& quota) {
  if (cpu_directory_.empty()) return false;
  const std::string amount = std::to_string(quota.quota_us);
  const std::string period = std::to_string(quota.period_us);
  if (cpu_v2_) {
    const std::string text = (quota.quota_us < 0 ? "max" : amount) + " " + period;
    return write_kernel_file(cpu_directory_ + "/cpu.max", text) == 0;
  }
  const std::string amount_path = cpu_directory_ + "/cpu.cfs_quota_us";
  const std::string period_path = cpu_directory_ + "/cpu.cfs_period_us";
  if (write_kernel_file(period_path, period) == 0) {
    return write_kernel_file(amount_path, amount) == 0;
  }
  return write_kernel_file(amount_path, amount) == 0 && write_kernel_file(period_path, period) == 0;
}

void CgroupFiles::set_high(std::int64_t bytes) {
  if (!memory_v2_ || memory_directory_.empty()) return;
  const std::string path = memory_directory_ + "/memory.high";
  KernelFile file{path};
  const auto text = file.read(buffer_);
  const auto now = text ? first_number(*text) : std::nullopt;
  if (!now) return;
  const bool unbounded = *now == std::numeric_limits<std::int64_t>::max();
  const bool ours = *now % kHighStep == kHighMark;
  if (bytes == 0 && ours) (void)write_kernel_file(path, "max");
  if (bytes == 0 || (!unbounded && !ours)) return;
  (void)write_kernel_file(path, std::to_string(bytes / kHighStep * kHighStep + kHighMark));
}

std::optional<std::uint32_t> CgroupFiles::processes() const {
  std::string buffer;
  // Opened each time: v1 may show an open one the list of a second ago.
  KernelFile file{in(memory_directory_, "/cgroup.procs")};
  const auto text = file.read(buffer);
  if (!text) {
    const bool gone = ::access(memory_directory_.c_str(), F_OK) != 0 && errno == ENOENT;
    return gone ? std::optional<std::uint32_t>{0} : std::nullopt;
  }
  const auto count = static_cast<std::uint32_t>(std::count(text->begin(), text->end(), '\n'));
  if (count > 0) return count;

  struct stat status {};

  // Each group below is one link more.
  constexpr ::nlink_t kLinksOfALeaf = 2;
  if (::stat(memory_directory_.c_str(), &status) != 0) return std::nullopt;
  return status.st_nlink <= kLinksOfALeaf ? std::optional<std::uint32_t>{0} : std::nullopt;
}

bool CgroupFiles::reclaim(std::int64_t bytes) {
  if (!memory_v2_ || memory_directory_.empty()) return false;
  // EAGAIN means that less was found than asked for: that is as good as it gets.
  return write_kernel_file(memory_directory_ + "/memory.reclaim", std::to_string(bytes)) == 0;
}

}  // namespace sluice::node_agent
