#pragma once

#include "common/time/time_point.h"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

namespace sluice::local {

/// The content of a small file, at most `bytes_max` bytes of it; nothing when it cannot be read.
[[nodiscard]] std::optional<std::string> read_small_file(const std::filesystem::path& path,
                                                         std::size_t bytes_max);

/// Writes `text` to an existing file (of /proc or a cgroup); false when it cannot.
bool write_small_file(const std::filesystem::path& path, const std::string& text);

/// The same; 0, or the errno of what failed.
[[nodiscard]] int try_write_small_file(const std::filesystem::path& path, const std::string& text);

/// Parts of /proc/<pid>/stat.
struct ProcessStat {
  std::string name;
  pid_t parent = -1;
  pid_t group = -1;
  std::uint64_t start_ticks = 0;  ///< since boot
  std::int64_t cpu_ticks = 0;     ///< of processor time that it has used
  std::int64_t waited_ticks = 0;  ///< of its children that have ended, once it has waited for them
  bool zombie = false;
};

[[nodiscard]] std::optional<ProcessStat> process_stat(pid_t pid);

/// The length of so many ticks of processor time.
[[nodiscard]] Duration processor_time(std::int64_t ticks);

/// The children of a process, of all of its threads. Where the kernel lists none, all processes of
/// the machine are looked at.
[[nodiscard]] std::vector<pid_t> children_of(pid_t process);

/// Whether the kernel lists children.
[[nodiscard]] bool lists_children();

/// `root` and what descends from it, at most 4096 processes. Where the kernel lists no children:
/// the processes of the group that it leads.
[[nodiscard]] std::vector<pid_t> descendants_of(pid_t root);

/// Memory of a process that is in RAM, in bytes; 0: there is no such process.
[[nodiscard]] std::int64_t resident_bytes(pid_t pid);

/// Calls `visit` with each process id, at most 65 536 of them; stops when it returns false.
void for_each_process(const std::function<bool(pid_t)>& visit);

}  // namespace sluice::local
