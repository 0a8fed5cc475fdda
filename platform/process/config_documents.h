#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace sluice::local {

enum class ConfigKind : std::uint8_t { config_map, secret };

/// Names a ConfigMap or a Secret.
struct ConfigName {
  ConfigKind kind = ConfigKind::config_map;
  std::string name;

  /// `ConfigMap settings`, as messages call it.
  [[nodiscard]] std::string text() const;

  friend auto operator<=>(const ConfigName&, const ConfigName&) = default;
};

/// What is in ConfigMaps and Secrets: bytes by key, decoded.
using ConfigData = std::map<std::string, std::string>;
using ConfigDocuments = std::map<ConfigName, ConfigData>;

/// One key of a ConfigMap or Secret. `optional`: it need not be there.
struct ConfigKey {
  ConfigName source;
  std::string key;
  bool optional = false;

  friend bool operator==(const ConfigKey&, const ConfigKey&) = default;
};

/// One variable of a program's environment.
struct EnvVar {
  std::string name;
  std::string value;                   ///< before expansion
  std::optional<ConfigKey> from = {};  ///< instead of `value`; taken as it is

  friend bool operator==(const EnvVar&, const EnvVar&) = default;
};

/// All keys of a ConfigMap or Secret as variables.
struct EnvFrom {
  ConfigName source;
  std::string prefix = {};
  bool optional = false;

  friend bool operator==(const EnvFrom&, const EnvFrom&) = default;
};

/// The value of `key`; null where there is none.
[[nodiscard]] const std::string* value_of(const ConfigDocuments& documents, const ConfigKey& key);

}  // namespace sluice::local
