#pragma once

#include "platform/process/service_spec.h"
#include "platform/process/yaml_reader.h"
#include <vector>

namespace sluice::local {

/// Reads `readinessProbe` into `probe`.
void read_readiness(YamlReader& reader, const YamlEntry& entry, ReadinessProbe& probe);

/// Reads `livenessProbe` or `startupProbe`; nothing when it has no effect, which is a warning.
/// `ports`: the numbers that mean the port that serves.
[[nodiscard]] std::optional<HealthProbe> read_health(YamlReader& reader, const YamlEntry& entry,
                                                     const std::vector<std::string>& ports);

}  // namespace sluice::local
