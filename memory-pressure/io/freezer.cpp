#include "memory-pressure/io/freezer.h"

#include "memory-pressure/io/kernel_file.h"
#include <cerrno>

namespace sluice::node_agent {

Outcome Freezer::set(const std::string& group, bool frozen) const {
  const std::string directory = mount_.directory(group);
  // Never all there is.
  if (directory.empty() || directory == mount_.point) return Outcome::refused;
  const int failed =
      mount_.v2 ? write_kernel_file(directory + "/cgroup.freeze", frozen ? "1" : "0")
                : write_kernel_file(directory + "/freezer.state", frozen ? "FROZEN" : "THAWED");
  if (failed == 0) return Outcome::ok;
  return failed == ENOENT || failed == ENODEV ? Outcome::not_found : Outcome::refused;
}

// In v1 the state of a group is also that of its parents: its own is a file apart.
std::optional<bool> Freezer::frozen(const std::string& group) const {
  const std::string directory = mount_.directory(group);
  if (directory.empty()) return std::nullopt;
  std::string buffer;
  KernelFile file{directory + (mount_.v2 ? "/cgroup.freeze" : "/freezer.self_freezing")};
  const auto text = file.read(buffer);
  const auto number = text ? first_number(*text) : std::nullopt;
  if (!number) return std::nullopt;
  return *number != 0;
}

}  // namespace sluice::node_agent
