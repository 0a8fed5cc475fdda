#pragma once

#include "autoscaler/placement/core/policy.h"

#include <span>
#include <string>
#include <vector>

namespace sluice {

class YamlReader;
struct YamlEntry;

}  // namespace sluice

namespace sluice::local {

/// The policies of a list of mappings (`placement.policies` in `config.yaml`). What is wrong
/// becomes a problem of `reader`.
[[nodiscard]] std::vector<placement::MigrationPolicy> read_policies(YamlReader& reader,
                                                                    const YamlEntry& entry);

/// One line that read_policies reads back; empty: there are none.
[[nodiscard]] std::string format_policies(std::span<const placement::MigrationPolicy> policies);

}  // namespace sluice::local
