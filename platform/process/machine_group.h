#pragma once

#include "common/base/result.h"
#include "common/model/selector.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sluice {

class YamlReader;
struct YamlEntry;

}  // namespace sluice

namespace sluice::local {

/// A part of the machine where replicas can run: one of `groups` in `config.yaml`
/// (one-machine.md 8).
struct MachineGroup {
  std::string name;                           ///< a DNS label, and not `any`
  std::int32_t preference = 0;                ///< lower is liked more
  std::optional<std::int64_t> cpu = {};       ///< millicores that its replicas have together
  std::optional<std::int64_t> memory = {};    ///< bytes, likewise
  std::optional<std::int32_t> replicas = {};  ///< most of them
  std::vector<int> cpus = {};                 ///< cores that they may use, in order; empty: all
  model::Labels labels = {};

  friend bool operator==(const MachineGroup&, const MachineGroup&) = default;
};

/// The groups of a list of mappings, on a machine that has `cores`. What is wrong becomes a problem
/// of `reader`.
[[nodiscard]] std::vector<MachineGroup> read_groups(YamlReader& reader, const YamlEntry& entry,
                                                    std::span<const int> cores);

/// One line that read_groups reads back; empty: there are none.
[[nodiscard]] std::string format_groups(std::span<const MachineGroup> groups);

/// The group of that name; null: there is none.
[[nodiscard]] const MachineGroup* group_named(std::span<const MachineGroup> groups,
                                              std::string_view name);

/// What groups have together, where that is more than the machine has: `cores`, and `memory` bytes,
/// 0 when that is not known. Nothing: they have no more.
[[nodiscard]] std::optional<Problem> more_than_machine(std::span<const MachineGroup> groups,
                                                       std::size_t cores, std::int64_t memory);

}  // namespace sluice::local
