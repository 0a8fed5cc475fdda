// CPU of a replica that runs already: what it has had, and its bandwidth: read, written, taken
// back.

#include "common/base/errno_text.h"

#include <fmt/format.h>

#include "memory-pressure/io/cgroup_files.h"
#include "memory-pressure/io/kernel_file.h"
#include "platform/process/cgroup.h"
#include "platform/process/listeners.h"
#include "platform/process/proc_files.h"
#include <cerrno>
#include <set>
#include <sys/stat.h>
#include <unistd.h>

namespace sluice::local {
namespace {

constexpr std::size_t kFileBytesMax = 256;
constexpr std::size_t kStatBytesMax = 4096;
/// A process may fork while its group is moved; one that forks without end is throttled as far as
/// it was caught.
constexpr int kRoundsMax = 4;

std::optional<std::int64_t> number_in(const std::filesystem::path& path) {
  const auto text = read_small_file(path, kFileBytesMax);
  return text ? node_agent::first_number(*text) : std::nullopt;
}

}  // namespace

std::optional<Problem> CgroupTree::adopt(const std::string& replica, pid_t group) const {
  const std::filesystem::path directory = cpu_directory(replica);
  if (directory.empty()) return Problem{"no writable cgroup limits CPU", "run `sluice doctor`"};
  const auto failed = [&](int number) {
    return Problem{fmt::format("cannot move {} to cgroup {}: {}", replica, directory.string(),
                               errno_text(number)),
                   "run `sluice doctor`"};
  };
  for (const auto& wanted : {directory.parent_path(), directory}) {
    if (::mkdir(wanted.c_str(), 0755) != 0 && errno != EEXIST) return failed(errno);
  }
  std::set<pid_t> moved;
  for (int round = 0; round < kRoundsMax; ++round) {
    bool found = false;
    for (const pid_t process : processes_of_group(group)) {
      if (!moved.insert(process).second) continue;
      found = true;
      const int error = try_write_small_file(directory / "cgroup.procs", std::to_string(process));
      if (error != 0 && error != ESRCH) return failed(error);
    }
    if (!found) break;
  }
  return std::nullopt;
}

// Of v1 the hierarchy that counts is another than the one that limits, or mounted with it.
std::optional<Duration> CgroupTree::cpu_time(const std::string& replica) const {
  if (kind_ != CgroupKind::v2) return std::nullopt;
  const auto text = read_small_file(cpu_root_ / replica / "cpu.stat", kStatBytesMax);
  const auto used = text ? node_agent::number_after(*text, "usage_usec") : std::nullopt;
  return used ? std::optional<Duration>{std::chrono::microseconds{*used}} : std::nullopt;
}

std::optional<node_agent::CpuQuota> CgroupTree::cpu_quota(const std::string& replica) const {
  const std::filesystem::path directory = cpu_directory(replica);
  if (directory.empty()) return std::nullopt;
  if (kind_ == CgroupKind::v2) {
    const auto text = read_small_file(directory / "cpu.max", kFileBytesMax);
    return text ? node_agent::parse_cpu_max(*text) : std::nullopt;
  }
  return node_agent::quota_of_cfs(number_in(directory / "cpu.cfs_quota_us"),
                                  number_in(directory / "cpu.cfs_period_us"));
}

int CgroupTree::set_cpu_quota(const std::string& replica, const node_agent::CpuQuota& quota) const {
  const std::filesystem::path directory = cpu_directory(replica);
  if (directory.empty()) return ENOENT;
  if (kind_ == CgroupKind::v2) {
    const std::string amount = quota.quota_us < 0 ? "max" : std::to_string(quota.quota_us);
    return try_write_small_file(directory / "cpu.max",
                                fmt::format("{} {}", amount, quota.period_us));
  }
  const auto period = directory / "cpu.cfs_period_us";
  if (number_in(period) != quota.period_us) {
    if (const int error = try_write_small_file(period, std::to_string(quota.period_us)))
      return error;
  }
  return try_write_small_file(directory / "cpu.cfs_quota_us", std::to_string(quota.quota_us));
}

}  // namespace sluice::local
