#pragma once

#include "common/yaml/yaml_reader.h"

#include "platform/process/service_spec.h"
#include <set>

namespace sluice::local {

/// The ConfigMaps and Secrets of one file, and what its services use of them.
class ConfigFile {
 public:
  /// Takes up `document` when it is a ConfigMap or Secret; false when it is something else.
  bool take(YamlReader& reader, const YAML::Node& document);

  /// Gives `spec` the document that `name` names. Missing and not `optional`: a problem at `line`.
  void use(YamlReader& reader, int line, const ConfigName& name, bool optional, ServiceSpec& spec);

  /// The same for one key, which has to be there too unless it is optional.
  void use(YamlReader& reader, int line, const ConfigKey& key, ServiceSpec& spec);

  /// Warns of documents that no service uses.
  void warn_of_unused(YamlReader& reader) const;

  [[nodiscard]] bool empty() const { return documents_.empty(); }

 private:
  ConfigDocuments documents_;
  std::map<ConfigName, int> lines_;
  std::set<ConfigName> used_;
  std::size_t bytes_ = 0;  // over all services that use them
};

/// Reads `env` of a container of `spec` into `env`.
void read_env(YamlReader& reader, ConfigFile& config, const YamlEntry& entry, ServiceSpec& spec,
              std::vector<EnvVar>& env);

/// Reads `envFrom` of a container of `spec` into `sources`.
void read_env_from(YamlReader& reader, ConfigFile& config, const YamlEntry& entry,
                   ServiceSpec& spec, std::vector<EnvFrom>& sources);

}  // namespace sluice::local
