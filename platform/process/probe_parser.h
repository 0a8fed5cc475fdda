#pragma once

#include "common/yaml/yaml_reader.h"

#include "platform/process/service_spec.h"
#include <vector>

namespace sluice::local {

/// Reads `readinessProbe` into `probe`, unless it has no effect, which is a warning. `ports`: the
/// numbers and the name that mean the port that serves.
void read_readiness(YamlReader& reader, const YamlEntry& entry,
                    const std::vector<std::string>& ports, ReadinessProbe& probe);

/// Reads `livenessProbe` or `startupProbe`; nothing when it has no effect, as above.
[[nodiscard]] std::optional<HealthProbe> read_health(YamlReader& reader, const YamlEntry& entry,
                                                     const std::vector<std::string>& ports);

}  // namespace sluice::local
