#pragma once

#include "common/yaml/yaml_reader.h"

#include "platform/process/config_parser.h"
#include "platform/process/service_spec.h"
#include <set>

namespace sluice::local {

/// The volumes of a service that have no effect on one machine, by name.
using PassedVolumes = std::set<std::string>;

/// Reads `volumes` into `spec`; those without effect are returned.
[[nodiscard]] PassedVolumes read_volumes(YamlReader& reader, ConfigFile& config,
                                         const YamlEntry& entry, ServiceSpec& spec);

/// Reads `volumeMounts` of a container of `spec`, whose volumes are known, into `mounts`; each is a
/// warning unless the program is run in a container.
void read_mounts(YamlReader& reader, const YamlEntry& entry, const ServiceSpec& spec,
                 const PassedVolumes& passed, bool in_container, std::vector<VolumeMount>& mounts);

}  // namespace sluice::local
