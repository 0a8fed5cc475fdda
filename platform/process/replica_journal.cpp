#include "platform/process/replica_journal.h"

#include "common/json/parse.h"
#include "common/json/read.h"
#include "common/json/write.h"

#include <nlohmann/json.hpp>

#include "platform/process/child.h"
#include "platform/process/listeners.h"
#include "platform/process/proc_files.h"
#include <algorithm>
#include <csignal>
#include <fcntl.h>
#include <set>

namespace sluice::local {
namespace {

constexpr std::size_t kJournalBytesMax = std::size_t{4} << 20;
constexpr std::size_t kEnvironmentBytesMax = std::size_t{256} << 10;

std::string boot_id() {
  return read_small_file("/proc/sys/kernel/random/boot_id", 64).value_or("");
}

/// A process of ours carries the revision in its environment, an app as K_REVISION and a sidecar as
/// SERVING_REVISION.
bool has_our_mark(pid_t pid) {
  const auto text =
      read_small_file("/proc/" + std::to_string(pid) + "/environ", kEnvironmentBytesMax);
  return text && (text->find("K_REVISION=") != std::string::npos ||
                  text->find("SERVING_REVISION=") != std::string::npos);
}

/// Kills a group if it still is the one that was written down.
bool kill_recorded(pid_t group, std::uint64_t started) {
  const auto leader = process_stat(group);
  const auto members = processes_of_group(group);  // that have not ended
  if (leader) {
    return leader->start_ticks == started && !members.empty() && kill_group(group, SIGKILL);
  }
  // The leader is gone. Its number cannot be given away while its group lives, but the group may
  // have emptied and a stranger's taken the number since: ask the members.
  for (const pid_t pid : members) {
    if (process_start_ticks(pid) >= started && has_our_mark(pid)) return kill_group(group, SIGKILL);
  }
  return false;
}

}  // namespace

std::uint64_t process_start_ticks(pid_t pid) {
  const auto stat = process_stat(pid);
  return stat ? stat->start_ticks : 0;
}

ReplicaJournal::ReplicaJournal(std::filesystem::path file) : file_(std::move(file)) {}

std::vector<std::string> ReplicaJournal::kill_leftovers() {
  std::set<std::string> killed;
  const auto text = read_small_file(file_, kJournalBytesMax);
  const auto json = reading::parsed(text.value_or(""));
  if (reading::member(json, "boot") == boot_id()) {
    for (const auto& group : reading::array(json, "groups")) {
      const auto id = reading::whole(group, "group").value_or(0);
      const auto started = reading::whole(group, "started");
      const std::string replica = reading::text(group, "replica");
      if (id <= 0 || !started || replica.empty()) continue;
      if (kill_recorded(static_cast<pid_t>(id), static_cast<std::uint64_t>(*started)))
        killed.insert(replica);
    }
  }
  groups_.clear();
  write();
  return {killed.begin(), killed.end()};
}

void ReplicaJournal::add(const std::string& replica, pid_t group) {
  const auto [begin, end] = groups_.equal_range(replica);
  const bool there =
      std::any_of(begin, end, [group](const auto& entry) { return entry.second.id == group; });
  if (there) return;
  groups_.insert({replica, {group, process_start_ticks(group)}});
  write();
}

void ReplicaJournal::remove(const std::string& replica) {
  if (groups_.erase(replica) > 0) write();
}

void ReplicaJournal::write() const {
  nlohmann::json json;
  json["boot"] = boot_id();
  json["groups"] = nlohmann::json::array();
  for (const auto& [replica, group] : groups_) {
    json["groups"].push_back(
        {{"replica", replica}, {"group", group.id}, {"started", group.started}});
  }
  const std::string text = json_line(json);
  auto next = file_;
  next += ".next";
  const UniqueFd fd(::open(next.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  if (!fd || ::write(fd.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()))
    return;
  std::error_code ignored;
  std::filesystem::rename(next, file_, ignored);
}

}  // namespace sluice::local
