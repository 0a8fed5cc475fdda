#include "memory-pressure/io/cgroup_mounts.h"

#include "memory-pressure/io/kernel_file.h"
#include <sstream>
#include <vector>

namespace sluice::node_agent {
namespace {

std::vector<std::string> words(std::string_view line) {
  std::istringstream text{std::string{line}};
  std::vector<std::string> all;
  for (std::string word; text >> word;) all.push_back(std::move(word));
  return all;
}

bool has_word(std::string_view text, std::string_view word, char between) {
  while (true) {
    const std::size_t end = text.find(between);
    if (text.substr(0, end) == word) return true;
    if (end == std::string_view::npos) return false;
    text.remove_prefix(end + 1);
  }
}

std::string content(const std::string& path) {
  std::string buffer;
  KernelFile file{path};
  return std::string{file.read(buffer).value_or("")};
}

// One line: `36 25 0:31 /top /point opts [fields] - kind source options`.
void take(const std::string& line, const std::string& root, CgroupMounts& mounts) {
  const std::size_t dash = line.find(" - ");
  if (dash == std::string::npos) return;
  const std::vector<std::string> before = words(std::string_view{line}.substr(0, dash));
  const std::vector<std::string> after = words(std::string_view{line}.substr(dash + 3));
  if (before.size() < 5 || after.size() < 3) return;
  CgroupMount mount{.point = root + before[4], .top = before[3], .v2 = after[0] == "cgroup2"};
  if (mount.v2) {
    if (!mounts.unified) mounts.unified = mount;
    return;
  }
  if (after[0] != "cgroup") return;
  if (has_word(after[2], "memory", ',') && !mounts.memory) mounts.memory = mount;
  if (has_word(after[2], "cpu", ',') && !mounts.cpu) mounts.cpu = mount;
  if (has_word(after[2], "freezer", ',') && !mounts.freezer) mounts.freezer = mount;
}

}  // namespace

std::string CgroupMount::directory(std::string_view path) const {
  if (point.empty()) return {};
  if (top != "/") {
    if (path == top) return point;
    if (!path.starts_with(top + "/")) return {};
    path.remove_prefix(top.size());
  }
  return path == "/" ? point : point + std::string{path};
}

std::string_view CgroupMounts::kind() const {
  const bool v1 = (memory && !memory.v2) || (cpu && !cpu.v2);
  if (v1) return unified ? "hybrid" : "v1";
  return memory || cpu ? "v2" : "none";
}

CgroupMounts find_cgroup_mounts(const std::string& root) {
  CgroupMounts mounts;
  std::istringstream lines{content(root + "/proc/self/mountinfo")};
  for (std::string line; std::getline(lines, line);) take(line, root, mounts);
  if (!mounts.unified) return mounts;
  if (!mounts.freezer) mounts.freezer = mounts.unified;
  // A controller is in one hierarchy at a time.
  std::string controllers = content(mounts.unified.point + "/cgroup.controllers");
  while (!controllers.empty() && controllers.back() == '\n') controllers.pop_back();
  if (!mounts.memory && has_word(controllers, "memory", ' ')) mounts.memory = mounts.unified;
  if (!mounts.cpu && has_word(controllers, "cpu", ' ')) mounts.cpu = mounts.unified;
  return mounts;
}

}  // namespace sluice::node_agent
