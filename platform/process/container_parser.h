#pragma once

#include "platform/process/service_spec.h"
#include "platform/process/yaml_reader.h"
#include <filesystem>

namespace sluice::local {

/// `path` in its one normal form: `/srv/.` and `/srv/` are `/srv`, and so give one template hash.
[[nodiscard]] std::filesystem::path directory_of(const std::filesystem::path& path);

/// Reads the one container of a service into `spec`; problems and warnings go to `reader`.
void read_container(YamlReader& reader, const std::filesystem::path& base_dir,
                    const YamlEntry& entry, ServiceSpec& spec);

}  // namespace sluice::local
