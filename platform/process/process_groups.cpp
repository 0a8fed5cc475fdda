#include "platform/process/process_groups.h"

#include "platform/process/proc_files.h"
#include <unistd.h>

namespace sluice::local {
namespace {

constexpr std::size_t kMembersMax = 4096;  // of one group

}  // namespace

void ProcessGroups::look(const std::set<pid_t>& leaders) {
  members_.clear();
  if (leaders.empty()) return;
  if (!lists_children()) {
    for_each_process([&](pid_t process) {
      const auto stat = process_stat(process);
      if (stat && leaders.contains(stat->group)) members_[stat->group].push_back(process);
      return true;
    });
    return;
  }
  for (const pid_t leader : leaders) descend(leader, leader);
  for (const pid_t child : children_of(::getpid())) {
    if (leaders.contains(child)) continue;
    const auto stat = process_stat(child);
    if (stat && leaders.contains(stat->group)) descend(child, stat->group);
  }
}

void ProcessGroups::descend(pid_t process, pid_t leader) {
  std::vector<pid_t>& members = members_[leader];
  std::size_t next = members.size();
  members.push_back(process);
  for (; next < members.size() && members.size() < kMembersMax; ++next) {
    const std::vector<pid_t> children = children_of(members[next]);
    members.insert(members.end(), children.begin(), children.end());
  }
}

std::optional<std::int64_t> ProcessGroups::bytes(pid_t leader) const {
  const auto found = members_.find(leader);
  if (found == members_.end()) return std::nullopt;
  std::int64_t sum = 0;
  for (const pid_t process : found->second) sum += resident_bytes(process);
  return sum;
}

std::optional<Duration> ProcessGroups::cpu_time(pid_t leader) const {
  const auto found = members_.find(leader);
  if (found == members_.end()) return std::nullopt;
  std::int64_t ticks = 0;
  for (const pid_t process : found->second) {
    const auto stat = process_stat(process);
    if (stat) ticks += stat->cpu_ticks + stat->waited_ticks;
  }
  return processor_time(ticks);
}

}  // namespace sluice::local
