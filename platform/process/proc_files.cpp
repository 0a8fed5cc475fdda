#include "platform/process/proc_files.h"

#include "common/values/whole_number.h"

#include "platform/process/unique_fd.h"
#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <dirent.h>
#include <fcntl.h>
#include <memory>
#include <sstream>
#include <string_view>
#include <unistd.h>

namespace sluice::local {
namespace {

constexpr std::size_t kStatBytesMax = 4096;
constexpr std::size_t kStatmBytesMax = 256;
constexpr int kProcessesMax = 65'536;
constexpr std::size_t kDescendantsMax = 4096;
constexpr std::size_t kChildrenBytesMax = std::size_t{64} << 10;
constexpr int kThreadsMax = 4096;

/// The number at field `index` (from 0) of `text`, fields separated by one space.
std::int64_t number_at(std::string_view text, int index) {
  for (int skipped = 0; skipped < index; ++skipped) {
    const auto space = text.find(' ');
    if (space == std::string_view::npos) return -1;
    text.remove_prefix(space + 1);
  }
  std::int64_t value = -1;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

}  // namespace

std::optional<std::string> read_small_file(const std::filesystem::path& path,
                                           std::size_t bytes_max) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) return std::nullopt;
  std::string text;
  while (text.size() < bytes_max) {
    const std::size_t before = text.size();
    text.resize(std::min(bytes_max, before + 65536));
    const auto count = ::read(fd.get(), text.data() + before, text.size() - before);
    text.resize(before + static_cast<std::size_t>(count > 0 ? count : 0));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return std::nullopt;
    if (count == 0) break;
  }
  return text;
}

int try_write_small_file(const std::filesystem::path& path, const std::string& text) {
  const UniqueFd fd(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (!fd) return errno;
  const ssize_t written = ::write(fd.get(), text.data(), text.size());
  if (written < 0) return errno;
  return written == static_cast<ssize_t>(text.size()) ? 0 : EIO;
}

bool write_small_file(const std::filesystem::path& path, const std::string& text) {
  const int failed = try_write_small_file(path, text);
  if (failed != 0) errno = failed;  // as callers tell it
  return failed == 0;
}

std::optional<ProcessStat> process_stat(pid_t pid) {
  const auto text = read_small_file("/proc/" + std::to_string(pid) + "/stat", kStatBytesMax);
  if (!text) return std::nullopt;
  // The name stands in parentheses and may itself contain spaces and parentheses.
  const auto open = text->find('(');
  const auto close = text->rfind(')');
  if (open == std::string::npos || close == std::string::npos || close + 2 >= text->size())
    return std::nullopt;
  const std::string_view rest = std::string_view(*text).substr(close + 2);
  ProcessStat stat;
  stat.name = text->substr(open + 1, close - open - 1);
  stat.zombie = rest.front() == 'Z' || rest.front() == 'X';
  stat.parent = static_cast<pid_t>(number_at(rest, 1));
  stat.group = static_cast<pid_t>(number_at(rest, 2));
  stat.cpu_ticks = number_at(rest, 11) + number_at(rest, 12);
  stat.waited_ticks = number_at(rest, 13) + number_at(rest, 14);
  stat.start_ticks = static_cast<std::uint64_t>(number_at(rest, 19));
  return stat;
}

Duration processor_time(std::int64_t ticks) {
  static const std::int64_t kTicksPerSecond = ::sysconf(_SC_CLK_TCK);
  return Duration{std::chrono::seconds{1}} * ticks / kTicksPerSecond;
}

// Each thread has children of its own.
std::vector<pid_t> children_of(pid_t process) {
  std::vector<pid_t> children;
  if (!lists_children()) {
    for_each_process([&](pid_t each) {
      const auto stat = process_stat(each);
      if (stat && stat->parent == process) children.push_back(each);
      return children.size() < kDescendantsMax;
    });
    return children;
  }
  const std::string tasks = "/proc/" + std::to_string(process) + "/task";
  const std::unique_ptr<DIR, int (*)(DIR*)> directory(::opendir(tasks.c_str()), ::closedir);
  if (!directory) return children;
  int threads = 0;
  while (const dirent* entry = ::readdir(directory.get())) {
    if (entry->d_name[0] == '.') continue;
    if (++threads > kThreadsMax) break;
    const auto text = read_small_file(tasks + "/" + entry->d_name + "/children", kChildrenBytesMax);
    if (!text) continue;
    std::istringstream numbers(*text);
    for (pid_t child = 0; numbers >> child;) children.push_back(child);
  }
  return children;
}

bool lists_children() {
  return ::access("/proc/thread-self/children", R_OK) == 0;
}

std::vector<pid_t> descendants_of(pid_t root) {
  std::vector<pid_t> all{root};
  if (!lists_children()) {
    for_each_process([&](pid_t process) {
      const auto stat = process_stat(process);
      if (process != root && stat && stat->group == root) all.push_back(process);
      return all.size() < kDescendantsMax;
    });
    return all;
  }
  for (std::size_t next = 0; next < all.size() && all.size() < kDescendantsMax; ++next) {
    const std::vector<pid_t> children = children_of(all[next]);
    all.insert(all.end(), children.begin(), children.end());
  }
  return all;
}

std::int64_t resident_bytes(pid_t pid) {
  const auto text = read_small_file("/proc/" + std::to_string(pid) + "/statm", kStatmBytesMax);
  if (!text) return 0;
  return std::max<std::int64_t>(0, number_at(*text, 1)) * ::sysconf(_SC_PAGESIZE);
}

void for_each_process(const std::function<bool(pid_t)>& visit) {
  const std::unique_ptr<DIR, int (*)(DIR*)> directory(::opendir("/proc"), ::closedir);
  if (!directory) return;
  int seen = 0;
  while (const dirent* entry = ::readdir(directory.get())) {
    const std::string_view name = entry->d_name;
    const auto pid = whole_number<pid_t>(name, 1);
    if (!pid) continue;
    if (++seen > kProcessesMax || !visit(*pid)) return;
  }
}

}  // namespace sluice::local
