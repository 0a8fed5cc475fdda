#include "platform/process/machine_group.h"

#include "common/values/dns_label.h"
#include "common/yaml/yaml_reader.h"

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include "platform/process/cores.h"
#include "platform/process/quantity.h"
#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>

namespace sluice::local {
namespace {

constexpr std::size_t kMachineGroupsMax = 64;
constexpr std::int64_t kPreferenceMost = 1'000'000;
constexpr std::int64_t kGroupReplicasMax = 10'000;  // as of max-replicas
constexpr std::size_t kGroupNameShown = 80;
constexpr double kMillicores = 1000;
constexpr std::int64_t kGibibytesMeant = 1024;  // more without a unit are not meant to be Gi
/// What `clusters` of a service says instead of a name.
constexpr std::string_view kEveryPlace = "any";

const std::vector<std::string> kGroupKeys{"name",     "preference", "cpu",   "memory",
                                          "replicas", "cpus",       "labels"};

// A group has gigabytes: what is too small has no unit, and that one is the likeliest.
Result<std::int64_t, Problem> memory_of_group(std::string_view text) {
  auto memory = parse_memory(text);
  const auto size = parse_size(text);
  if (!memory && size && *size > 0 && *size <= kGibibytesMeant)
    return Problem{memory.error().what, fmt::format("did you mean {}Gi?", *size)};
  return memory;
}

class GroupReading {
 public:
  GroupReading(YamlReader& reader, std::span<const int> cores) : reader_(reader), cores_(cores) {}

  MachineGroup read(const YamlEntry& item) {
    MachineGroup group;
    bool named = false;
    for (const YamlEntry& field :
         reader_.known_entries(item.value, item.line, item.key, kGroupKeys)) {
      named = named || field.key == "name";
      read_field(field, group);
    }
    if (!named && item.value.IsMap())
      reader_.fail_missing(item.line, "name", "a group has no `name`", "give it one");
    return group;
  }

 private:
  void read_field(const YamlEntry& field, MachineGroup& group) {
    if (field.key == "name") {
      read_name(field, group);
    } else if (field.key == "preference") {
      if (const auto number = reader_.integer(field, -kPreferenceMost, kPreferenceMost))
        group.preference = static_cast<std::int32_t>(*number);
    } else if (field.key == "replicas") {
      if (const auto number = reader_.integer(field, 1, kGroupReplicasMax))
        group.replicas = static_cast<std::int32_t>(*number);
    } else if (field.key == "labels") {
      for (const YamlEntry& label : reader_.any_entries(field.value, field.line, field.key)) {
        if (auto value = reader_.text(label)) group.labels[label.key] = std::move(*value);
      }
    } else if (const auto text = reader_.text(field)) {
      read_quantity(field, *text, group);
    }
  }

  void read_name(const YamlEntry& field, MachineGroup& group) {
    auto name = reader_.text(field);
    if (!name) return;
    if (!is_dns_label(*name)) {
      reader_.fail(field.line,
                   fmt::format("`{}` is not a DNS label", name->substr(0, kGroupNameShown)),
                   "use 1 to 63 of a-z, 0-9 and -, beginning and ending with a letter or digit");
    } else if (*name == kEveryPlace) {
      reader_.fail(field.line, "`any` cannot be the name of a group: it means every group",
                   "give the group another name");
    }
    group.name = std::move(*name);
  }

  void read_quantity(const YamlEntry& field, const std::string& text, MachineGroup& group) {
    if (field.key == "cpu") {
      if (const auto cores = reader_.checked(field, parse_cpu(text)))
        group.cpu = std::max<std::int64_t>(1, std::llround(*cores * kMillicores));
    } else if (field.key == "memory") {
      group.memory = reader_.checked(field, memory_of_group(text));
    } else if (auto cpus = reader_.checked(field, parse_cores(text))) {
      const auto missing = std::find_if(cpus->begin(), cpus->end(), [this](int core) {
        return !std::binary_search(cores_.begin(), cores_.end(), core);
      });
      if (missing != cpus->end()) {
        reader_.fail(field.line, fmt::format("`cpus`: there is no core {}", *missing),
                     fmt::format("use cores of {}, which are there", format_cores(cores_)));
      }
      group.cpus = std::move(*cpus);
    }
  }

  YamlReader& reader_;
  std::span<const int> cores_;
};

}  // namespace

std::vector<MachineGroup> read_groups(YamlReader& reader, const YamlEntry& entry,
                                      std::span<const int> cores) {
  std::vector<MachineGroup> groups;
  GroupReading reading(reader, cores);
  for (const YamlEntry& item : reader.items(entry, kMachineGroupsMax)) {
    MachineGroup group = reading.read(item);
    if (!group.name.empty() && group_named(groups, group.name) != nullptr) {
      reader.fail(item.line,
                  fmt::format("two groups are named `{}`", group.name.substr(0, kGroupNameShown)),
                  "rename one");
    }
    groups.push_back(std::move(group));
  }
  return groups;
}

std::string format_groups(std::span<const MachineGroup> groups) {
  if (groups.empty()) return {};
  YAML::Emitter out;
  out.SetSeqFormat(YAML::Flow);
  out.SetMapFormat(YAML::Flow);
  out << YAML::BeginSeq;
  for (const MachineGroup& group : groups) {
    out << YAML::BeginMap << YAML::Key << "name" << YAML::Value << group.name;
    out << YAML::Key << "preference" << YAML::Value << group.preference;
    if (group.cpu) {
      out << YAML::Key << "cpu" << YAML::Value
          << format_cpu(static_cast<double>(*group.cpu) / kMillicores);
    }
    if (group.memory) out << YAML::Key << "memory" << YAML::Value << format_size(*group.memory);
    if (group.replicas) out << YAML::Key << "replicas" << YAML::Value << *group.replicas;
    if (!group.cpus.empty()) {
      out << YAML::Key << "cpus" << YAML::Value << YAML::DoubleQuoted << format_cores(group.cpus);
    }
    if (!group.labels.empty()) {
      out << YAML::Key << "labels" << YAML::Value << YAML::BeginMap;
      for (const auto& [key, value] : group.labels)
        out << YAML::Key << key << YAML::Value << YAML::DoubleQuoted << value;
      out << YAML::EndMap;
    }
    out << YAML::EndMap;
  }
  out << YAML::EndSeq;
  return {out.c_str(), out.size()};
}

const MachineGroup* group_named(std::span<const MachineGroup> groups, std::string_view name) {
  const auto found = std::find_if(groups.begin(), groups.end(),
                                  [name](const MachineGroup& group) { return group.name == name; });
  return found == groups.end() ? nullptr : &*found;
}

std::optional<Problem> more_than_machine(std::span<const MachineGroup> groups, std::size_t cores,
                                         std::int64_t memory) {
  constexpr double kGibibyte = 1024.0 * 1024 * 1024;
  std::int64_t cpu_of_all = 0;
  double memory_of_all = 0;
  for (const MachineGroup& group : groups) {
    cpu_of_all += group.cpu.value_or(0);
    memory_of_all += static_cast<double>(group.memory.value_or(0));
  }
  std::vector<std::string> more;
  const double cpu = static_cast<double>(cpu_of_all) / kMillicores;
  if (cpu > static_cast<double>(cores))
    more.push_back(fmt::format("cpu {} of {}", format_cpu(cpu), cores));
  if (memory > 0 && memory_of_all > static_cast<double>(memory)) {
    more.push_back(fmt::format("memory {:.1f}Gi of {:.1f}Gi", memory_of_all / kGibibyte,
                               static_cast<double>(memory) / kGibibyte));
  }
  if (more.empty()) return std::nullopt;
  return Problem{
      fmt::format("`groups` have more together than the machine: {}", fmt::join(more, ", ")),
      "lower them if each is to have its own"};
}

}  // namespace sluice::local
