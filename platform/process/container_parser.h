#pragma once

#include "common/yaml/yaml_reader.h"

#include "platform/process/config_parser.h"
#include "platform/process/service_spec.h"
#include "platform/process/volume_parser.h"
#include <filesystem>
#include <string>

namespace sluice::local {

/// What the containers of one service are read with.
struct ContainerContext {
  YamlReader& reader;
  const std::filesystem::path& base_dir;  ///< of a relative `workingDir`
  ConfigFile& config;
  const PassedVolumes& passed;           ///< the other volumes are in the spec
  const std::string& container_runtime;  ///< of SpecDefaults
};

/// `path` in its one normal form: `/srv/.` and `/srv/` are `/srv`, and so give one template hash.
[[nodiscard]] std::filesystem::path directory_of(const std::filesystem::path& path);

/// Reads the one container of a service into `spec`; problems and warnings go to the reader.
void read_container(const ContainerContext& context, const YamlEntry& entry, ServiceSpec& spec);

/// Reads `initContainers` into `spec`.
void read_init_containers(const ContainerContext& context, const YamlEntry& entry,
                          ServiceSpec& spec);

}  // namespace sluice::local
