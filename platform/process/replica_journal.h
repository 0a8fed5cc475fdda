#pragma once

#include "common/base/result.h"

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <sys/types.h>
#include <vector>

namespace sluice::local {

/// `replicas.json`: the process groups of an engine, so that the next engine of that name can kill
/// what survived a crash (one-machine.md 5.8). A group is known by its id, the start time of its
/// leader and the boot; a number reused by a stranger is never killed.
class ReplicaJournal {
 public:
  explicit ReplicaJournal(std::filesystem::path file);

  /// Kills the groups an earlier engine left behind and empties the file. Returns the ids of the
  /// replicas whose processes were killed. A file that cannot be read counts as empty.
  [[nodiscard]] std::vector<std::string> kill_leftovers();

  /// Notes a group of `replica` (the app's, the sidecar's). Errors are ignored: the journal only
  /// widens what a crash leaves tidy.
  void add(const std::string& replica, pid_t group);

  /// Forgets the groups of `replica`.
  void remove(const std::string& replica);

 private:
  struct Group {
    pid_t id = -1;
    std::uint64_t started = 0;  // clock ticks since boot
  };

  void write() const;

  std::filesystem::path file_;
  std::multimap<std::string, Group> groups_;
};

/// When a process started, in clock ticks since boot (field 22 of its stat file); 0 = no such
/// process.
[[nodiscard]] std::uint64_t process_start_ticks(pid_t pid);

}  // namespace sluice::local
