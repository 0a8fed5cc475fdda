#include "platform/process/cgroup.h"

#include "common/ring/hash_ring.h"

#include <fmt/format.h>

#include "memory-pressure/io/cgroup_files.h"
#include "platform/process/cause.h"
#include "platform/process/proc_files.h"
#include <cerrno>
#include <charconv>
#include <cmath>
#include <csignal>
#include <cstring>
#include <sstream>
#include <sys/stat.h>
#include <unistd.h>

namespace sluice::local {
namespace {

constexpr std::size_t kSmallFileMax = std::size_t{256} << 10;
constexpr double kPeriodMicroseconds = 100'000;
constexpr double kQuotaMinMicroseconds = 1000;  // the kernel's own bound
const std::filesystem::path kMount = "/sys/fs/cgroup";

bool make_directory(const std::filesystem::path& directory) {
  return ::mkdir(directory.c_str(), 0755) == 0 || errno == EEXIST;
}

std::vector<pid_t> members(const std::filesystem::path& directory) {
  std::istringstream text(read_small_file(directory / "cgroup.procs", kSmallFileMax).value_or(""));
  std::vector<pid_t> pids;
  for (pid_t pid = 0; text >> pid;) pids.push_back(pid);
  return pids;
}

/// The delegated v2 subtree we run in, divided: this process in `engine`, controllers given to its
/// siblings. Only a group that holds no other process is taken, since the kernel lets no group both
/// hold processes and divide its resources.
std::filesystem::path divide_v2(const std::string& place) {
  std::filesystem::path root = kMount / place.substr(1);
  if (place == "/" || ::access((root / "cgroup.subtree_control").c_str(), W_OK) != 0) return {};
  const auto inside = members(root);
  const auto leaf = root / "engine";
  if (inside.size() != 1 || inside.front() != ::getpid() || !make_directory(leaf)) return {};
  if (!write_small_file(leaf / "cgroup.procs", "0")) return {};
  write_small_file(root / "cgroup.subtree_control", "+cpu");
  write_small_file(root / "cgroup.subtree_control", "+memory");
  const auto given = read_small_file(root / "cgroup.subtree_control", kSmallFileMax).value_or("");
  if (given.find("cpu") != std::string::npos || given.find("memory") != std::string::npos)
    return root;
  write_small_file(root / "cgroup.procs", "0");
  ::rmdir(leaf.c_str());
  return {};
}

/// A group of our own below our place in a v1 hierarchy; empty when it cannot be made.
std::filesystem::path make_v1(const char* controller, const std::string& place,
                              const std::string& name) {
  if (place.empty()) return {};
  for (const std::filesystem::path& parent :
       {kMount / controller / place.substr(1), kMount / controller}) {
    auto root = parent / name;
    if (::access((parent / "cgroup.procs").c_str(), W_OK) == 0 && make_directory(root)) return root;
  }
  return {};
}

std::int64_t quota(double cores) {
  return std::llround(std::max(cores * kPeriodMicroseconds, kQuotaMinMicroseconds));
}

Problem cannot_set_up(const std::filesystem::path& path) {
  return {fmt::format("cannot set up cgroup {}: {}", path.string(), std::strerror(errno)),
          "run `sluice doctor`"};
}

}  // namespace

CgroupTree::CgroupTree(CgroupKind kind, std::filesystem::path memory_root,
                       std::filesystem::path cpu_root)
    : kind_(kind), memory_root_(std::move(memory_root)), cpu_root_(std::move(cpu_root)) {}

CgroupTree CgroupTree::detect(const std::string& engine, std::string_view runtime_dir) {
  // As the kernel lists them, wherever the hierarchies are mounted.
  const auto places = node_agent::own_cgroup_paths({}).value_or(node_agent::CgroupPaths{});
  if (!places.unified.empty()) {
    const auto root = divide_v2(places.unified);
    if (!root.empty()) return CgroupTree(CgroupKind::v2, root, root);
  }
  // An engine of the same name in another runtime directory is another one.
  const std::string name =
      fmt::format("sluice-{}-{:08x}", engine, ring::hash_of(runtime_dir) & 0xFFFFFFFFU);
  auto memory = make_v1("memory", places.memory, name);
  auto cpu = make_v1("cpu", places.cpu, name);
  if (memory.empty() && cpu.empty()) return {};
  return CgroupTree(CgroupKind::v1, std::move(memory), std::move(cpu));
}

bool CgroupTree::can_limit_memory() const {
  return !memory_root_.empty() &&
         (kind_ == CgroupKind::v1 ||
          read_small_file(memory_root_ / "cgroup.subtree_control", kSmallFileMax)
                  .value_or("")
                  .find("memory") != std::string::npos);
}

bool CgroupTree::can_limit_cpu() const {
  if (cpu_root_.empty()) return false;
  const auto v1 = cpu_root_ / "cpu.cfs_quota_us";
  if (kind_ == CgroupKind::v1) {
    // Our own group may be gone for want of replicas; who could make it once can again.
    const auto above = cpu_root_.parent_path() / "cgroup.procs";
    return ::access(v1.c_str(), W_OK) == 0 || ::access(above.c_str(), W_OK) == 0;
  }
  std::istringstream words(
      read_small_file(cpu_root_ / "cgroup.subtree_control", kSmallFileMax).value_or(""));
  for (std::string word; words >> word;) {
    if (word == "cpu") return true;  // not `cpuset`
  }
  return false;
}

std::string CgroupTree::description() const {
  const auto list =
      fmt::format("{}{}", can_limit_memory() ? " memory" : "", can_limit_cpu() ? " cpu" : "");
  switch (kind_) {
    case CgroupKind::v2:
      return fmt::format("cgroup v2 subtree {}:{}", memory_root_.string(), list);
    case CgroupKind::v1:
      return fmt::format("cgroup v1 tree {}:{}",
                         (memory_root_.empty() ? cpu_root_ : memory_root_).string(), list);
    case CgroupKind::none:
      break;
  }
  return "no writable cgroup: limits are only accounted; run it with "
         "`systemd-run --user --scope -p Delegate=yes sluice up …`";
}

Result<std::vector<std::filesystem::path>, Problem> CgroupTree::create(
    const std::string& replica, const CgroupLimits& limits) const {
  std::vector<std::filesystem::path> directories;
  const auto add = [&](const std::filesystem::path& directory) {
    // A crash may have left it, with a throttle in it.
    ::rmdir(directory.c_str());
    // The engine's own group goes with its last replica's, and comes back with the next.
    if (!make_directory(directory.parent_path()) || !make_directory(directory)) return false;
    directories.push_back(directory);
    return true;
  };
  const auto memory = memory_root_ / replica;
  const auto cpu = cpu_root_ / replica;
  if (!memory_root_.empty() && !add(memory)) return cannot_set_up(memory);
  if (!cpu_root_.empty() && cpu_root_ != memory_root_ && !add(cpu)) return cannot_set_up(cpu);
  if (auto problem = set_limits(memory, cpu, limits)) return *problem;
  return directories;
}

std::optional<Problem> CgroupTree::set_limits(const std::filesystem::path& memory,
                                              const std::filesystem::path& cpu,
                                              const CgroupLimits& limits) const {
  const bool v2 = kind_ == CgroupKind::v2;
  if (limits.memory && can_limit_memory()) {
    const auto file = memory / (v2 ? "memory.max" : "memory.limit_in_bytes");
    if (!write_small_file(file, fmt::format("{}", *limits.memory))) return cannot_set_up(file);
  }
  if (limits.cpu && can_limit_cpu()) {
    const auto file = cpu / (v2 ? "cpu.max" : "cpu.cfs_quota_us");
    const std::string value = v2 ? fmt::format("{} {:.0f}", quota(*limits.cpu), kPeriodMicroseconds)
                                 : fmt::format("{}", quota(*limits.cpu));
    if (!v2)
      write_small_file(cpu / "cpu.cfs_period_us", fmt::format("{:.0f}", kPeriodMicroseconds));
    if (!write_small_file(file, value)) return cannot_set_up(file);
  }
  return std::nullopt;
}

Result<CgroupTree, Problem> CgroupTree::divide(const std::string& group,
                                               const CgroupLimits& limits) const {
  const auto below = [&group](const std::filesystem::path& root) {
    return root.empty() ? root : root / group;
  };
  CgroupTree inner(kind_, below(memory_root_), below(cpu_root_));
  remove_all(group);
  for (const auto& directory : {inner.memory_root_, inner.cpu_root_}) {
    if (directory.empty()) continue;
    if (!make_directory(directory.parent_path()) || !make_directory(directory))
      return cannot_set_up(directory);
  }
  // Before Linux 5.11 a group of v1 counts those in it only with this.
  if (kind_ == CgroupKind::v1 && !inner.memory_root_.empty())
    write_small_file(inner.memory_root_ / "memory.use_hierarchy", "1");
  if (auto problem = set_limits(inner.memory_root_, inner.cpu_root_, limits)) return *problem;
  if (kind_ == CgroupKind::v2) {
    const auto control = inner.memory_root_ / "cgroup.subtree_control";
    const std::string given =
        fmt::format("{}{}", can_limit_cpu() ? "+cpu " : "", can_limit_memory() ? "+memory" : "");
    if (!write_small_file(control, given)) return cannot_set_up(control);
  }
  return inner;
}

void CgroupTree::remove(const std::string& replica) const {
  if (replica.empty()) return;
  for (const auto& root : {memory_root_, cpu_root_}) {
    if (root.empty()) continue;
    const auto directory = root / replica;
    if (::rmdir(directory.c_str()) == 0 || errno != EBUSY) continue;
    for (const pid_t pid : members(directory)) ::kill(pid, SIGKILL);
    // A killed process leaves its group a moment later; clear() takes what stays.
    ::rmdir(directory.c_str());
  }
}

// With the groups in it, which go first.
void CgroupTree::remove_all(const std::string& group) const {
  for (const auto& root : {memory_root_, cpu_root_}) {
    std::error_code failed;
    if (root.empty()) continue;
    for (const auto& entry : std::filesystem::directory_iterator(root / group, failed)) {
      if (entry.is_directory(failed))
        remove((std::filesystem::path(group) / entry.path().filename()).string());
    }
  }
  remove(group);
}

void CgroupTree::clear() const {
  for (const auto& root : {memory_root_, cpu_root_}) {
    std::error_code failed;
    if (root.empty()) continue;
    for (const auto& entry : std::filesystem::directory_iterator(root, failed)) {
      if (entry.is_directory(failed) && entry.path().filename() != "engine")
        remove_all(entry.path().filename().string());
    }
    if (kind_ == CgroupKind::v1) ::rmdir(root.c_str());
  }
}

std::optional<std::int64_t> CgroupTree::memory_bytes(const std::string& replica) const {
  if (memory_root_.empty()) return std::nullopt;
  const auto file = memory_root_ / replica /
                    (kind_ == CgroupKind::v2 ? "memory.current" : "memory.usage_in_bytes");
  const auto text = read_small_file(file, 64);
  std::int64_t bytes = 0;
  if (!text || std::from_chars(text->data(), text->data() + text->size(), bytes).ec != std::errc{})
    return std::nullopt;
  return bytes;
}

std::int64_t CgroupTree::oom_kills(const std::string& replica) const {
  if (memory_root_.empty()) return 0;
  const char* const file = kind_ == CgroupKind::v2 ? "memory.events" : "memory.oom_control";
  const auto text = read_small_file(memory_root_ / replica / file, kSmallFileMax);
  return text ? oom_kills_in(*text).value_or(0) : 0;
}

std::filesystem::path CgroupTree::cpu_directory(const std::string& replica) const {
  return can_limit_cpu() ? cpu_root_ / replica : std::filesystem::path();
}

}  // namespace sluice::local
