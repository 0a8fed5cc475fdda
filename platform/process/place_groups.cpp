#include "platform/process/place_groups.h"

#include <fmt/format.h>

#include <utility>

namespace sluice::local {
namespace {

constexpr double kMillicoresOfCore = 1000;

// No replica has a dot in its name.
std::string directory_of_group(const std::string& name) {
  return "place." + name;
}

std::string words_of(bool cpu, bool memory) {
  return cpu && memory ? "cpu and memory are" : cpu ? "cpu is" : "memory is";
}

}  // namespace

std::vector<Problem> PlaceGroups::make(std::span<const MachineGroup> groups) {
  std::map<std::string, std::vector<std::string>> accounted;  // why, and which groups
  const auto account = [&accounted](const MachineGroup& group, bool cpu, bool memory,
                                    const std::string& why) {
    accounted[fmt::format("{} only accounted, {}", words_of(cpu, memory), why)].push_back(
        group.name);
  };
  for (const MachineGroup& group : groups) {
    const bool cpu = group.cpu && machine_.can_limit_cpu();
    const bool memory = group.memory && machine_.can_limit_memory();
    if (cpu || memory) {
      CgroupLimits limits;
      if (cpu) limits.cpu = static_cast<double>(*group.cpu) / kMillicoresOfCore;
      if (memory) limits.memory = group.memory;
      auto tree = machine_.divide(directory_of_group(group.name), limits);
      if (!tree) {
        account(group, group.cpu.has_value(), group.memory.has_value(), tree.error().what);
        continue;
      }
      trees_.insert_or_assign(group.name, std::move(*tree));
    }
    const bool no_cpu = group.cpu && !cpu;
    const bool no_memory = group.memory && !memory;
    if (no_cpu || no_memory)
      account(group, no_cpu, no_memory, "for no writable cgroup limits that");
  }
  std::vector<Problem> problems;
  problems.reserve(accounted.size());
  for (const auto& [why, names] : accounted) {
    problems.push_back(
        {fmt::format("group{} {}: {}", names.size() == 1 ? "" : "s", fmt::join(names, ", "), why),
         "see `sluice doctor`"});
  }
  return problems;
}

const CgroupTree& PlaceGroups::tree_of(const std::string& group) const {
  const auto found = trees_.find(group);
  return found == trees_.end() ? machine_ : found->second;
}

}  // namespace sluice::local
