// ConfigMaps and Secrets, and the variables that come from them.

#include "platform/process/config_parser.h"

#include "common/kube/base64.h"
#include "common/values/closest_name.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

namespace sluice::local {
namespace {

constexpr std::size_t kItemsMax = 10'000;
constexpr std::size_t kKeyMax = 253;
constexpr std::size_t kNameMax = 253;
/// Each service has a copy of what it uses.
constexpr std::size_t kBytesMax = std::size_t{64} << 20;

bool is_key(std::string_view key) {
  if (key.empty() || key.size() > kKeyMax || key == "." || key == "..") return false;
  return std::all_of(key.begin(), key.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_' || c == '.';
  });
}

/// Reports nothing: what is wrong with the document is reported where it is read.
std::optional<ConfigKind> kind_of(const YAML::Node& document) {
  const auto is = [&](const char* key, std::string_view value) {
    const YAML::Node found = document[key];
    return found && found.IsScalar() && found.Scalar() == value;
  };
  if (!is("apiVersion", "v1")) return std::nullopt;
  if (is("kind", "ConfigMap")) return ConfigKind::config_map;
  if (is("kind", "Secret")) return ConfigKind::secret;
  return std::nullopt;
}

void read_data(YamlReader& reader, const YamlEntry& entry, bool encoded, ConfigData& data) {
  for (const YamlEntry& pair : reader.any_entries(entry.value, entry.line, entry.key)) {
    auto value = reader.text(pair);
    if (!value) continue;
    if (!is_key(pair.key)) {
      reader.fail(pair.line, fmt::format("`{}` is not a valid key", pair.key.substr(0, 80)),
                  "use 1 to 253 letters, digits, -, _ and .");
      continue;
    }
    if (encoded) {
      value = kube::decode_base64(*value);
      if (!value) {
        reader.fail(pair.line, fmt::format("the value of `{}` is not base64", pair.key),
                    "encode it, or write it in clear text under `stringData` of a Secret or "
                    "`data` of a ConfigMap");
        continue;
      }
    }
    data.insert_or_assign(pair.key, std::move(*value));
  }
}

std::string read_name(YamlReader& reader, const YamlEntry& entry) {
  std::string name;
  for (const YamlEntry& field : reader.any_entries(entry.value, entry.line, "metadata")) {
    if (field.key != "name") continue;
    if (auto text = reader.text(field)) name = std::move(*text);
  }
  return name;
}

/// Takes `name`, `key` and `optional` of a reference at `line`.
ConfigKey reference_of(YamlReader& reader, const std::vector<YamlEntry>& fields, int line,
                       ConfigKind kind) {
  ConfigKey reference{{kind, {}}, {}, false};
  for (const YamlEntry& field : fields) {
    if (field.key == "optional") {
      reference.optional = reader.boolean(field).value_or(false);
    } else if (auto text = reader.text(field)) {
      (field.key == "name" ? reference.source.name : reference.key) = std::move(*text);
    }
  }
  if (reference.source.name.empty())
    reader.fail(line, "a ConfigMap or Secret is used without `name`", "name the document");
  return reference;
}

/// What `valueFrom` names; nothing when it cannot be used.
std::optional<ConfigKey> read_value_from(YamlReader& reader, const YamlEntry& entry) {
  std::optional<ConfigKey> key;
  const YamlKeys keys{{"configMapKeyRef", "secretKeyRef", "fieldRef", "resourceFieldRef"}};
  for (const YamlEntry& field : reader.entries(entry.value, entry.line, "valueFrom", keys)) {
    if (field.key == "fieldRef" || field.key == "resourceFieldRef") {
      reader.fail(field.line,
                  fmt::format("`{}` cannot be resolved: there is no pod here", field.key),
                  "write the value with `value`");
      continue;
    }
    const auto kind = field.key == "secretKeyRef" ? ConfigKind::secret : ConfigKind::config_map;
    key = reference_of(reader,
                       reader.entries(field.value, field.line, "configMapKeyRef or secretKeyRef",
                                      {{"name", "key", "optional"}}),
                       field.line, kind);
    if (key->key.empty()) {
      reader.fail(field.line, fmt::format("`{}` has no `key`", field.key), "name the key");
    }
  }
  if (key && (key->source.name.empty() || key->key.empty())) return std::nullopt;
  return key;
}

bool is_variable_name(std::string_view name) {
  return !name.empty() && name.find('=') == std::string_view::npos;
}

}  // namespace

bool ConfigFile::take(YamlReader& reader, const YAML::Node& document) {
  if (!document.IsMap()) return false;
  const int line = document.Mark().is_null() ? 1 : document.Mark().line + 1;
  const auto kind = kind_of(document);
  if (!kind) return false;
  ConfigName name{*kind, {}};
  ConfigData data;
  const bool secret = *kind == ConfigKind::secret;
  std::optional<YamlEntry> plain;  // stringData wins over data, wherever it stands
  const YamlKeys keys{{"apiVersion", "kind", "metadata", "data", "stringData", "binaryData"},
                      {},
                      {"type", "immutable"}};
  for (const YamlEntry& field : reader.entries(document, line, "ConfigMap or Secret", keys)) {
    if (field.key == "metadata") {
      name.name = read_name(reader, field);
    } else if (field.key == (secret ? "binaryData" : "stringData")) {
      reader.fail(
          field.line,
          fmt::format("`{}` is not a key of a {}", field.key, secret ? "Secret" : "ConfigMap"),
          secret ? "use `data` for base64" : "use `data`");
    } else if (field.key == "stringData") {
      plain = field;
    } else if (field.key == "data" || field.key == "binaryData") {
      read_data(reader, field, secret || field.key == "binaryData", data);
    }
  }
  if (plain) read_data(reader, *plain, false, data);
  if (name.name.empty() || name.name.size() > kNameMax) {
    reader.fail(line, "`metadata.name` is missing", "give the document a name");
    return true;
  }
  const auto there = documents_.find(name);
  if (there != documents_.end() && there->second != data) {
    reader.fail(line, fmt::format("{} is defined twice, with different data", name.text()),
                "rename one");
  } else {
    lines_.emplace(name, line);
    documents_.insert_or_assign(std::move(name), std::move(data));
  }
  return true;
}

void ConfigFile::use(YamlReader& reader, int line, const ConfigName& name, bool optional,
                     ServiceSpec& spec) {
  const auto found = documents_.find(name);
  if (found == documents_.end()) {
    if (optional) return;
    reader.fail(line, fmt::format("{} is not in this file", name.text()),
                "add its document to the file, or set `optional: true`");
    return;
  }
  used_.insert(name);
  if (!spec.config.emplace(name, found->second).second) return;
  for (const auto& [key, value] : found->second) bytes_ += key.size() + value.size();
  if (bytes_ > kBytesMax) {
    reader.fail(line, "the services use more than 64 MiB of ConfigMaps and Secrets",
                "split the file");
  }
}

void ConfigFile::use(YamlReader& reader, int line, const ConfigKey& key, ServiceSpec& spec) {
  use(reader, line, key.source, key.optional, spec);
  const auto found = documents_.find(key.source);
  if (found == documents_.end() || key.optional || found->second.contains(key.key)) return;
  std::vector<std::string> names;
  for (const auto& [name, value] : found->second) names.push_back(name);
  const auto meant = closest_name(key.key, names);
  reader.fail(
      line, fmt::format("{} has no key `{}`", key.source.text(), key.key.substr(0, 80)),
      meant ? fmt::format("did you mean `{}`?", *meant) : "add it there, or set `optional: true`");
}

void ConfigFile::warn_of_unused(YamlReader& reader) const {
  for (const auto& [name, line] : lines_) {
    if (!used_.contains(name))
      reader.warn(line,
                  fmt::format("{} has no effect: no service of this file uses it", name.text()));
  }
}

void read_env(YamlReader& reader, ConfigFile& config, const YamlEntry& entry, ServiceSpec& spec,
              std::vector<EnvVar>& env) {
  for (const YamlEntry& item : reader.items(entry, kItemsMax)) {
    EnvVar variable;
    bool usable = true;
    int from_line = item.line;
    const YamlKeys keys{{"name", "value", "valueFrom"}};
    for (const YamlEntry& field : reader.entries(item.value, item.line, "env", keys)) {
      if (field.key == "valueFrom") {
        variable.from = read_value_from(reader, field);
        from_line = field.line;
        usable = usable && variable.from.has_value();
      } else if (auto text = reader.text(field)) {
        (field.key == "name" ? variable.name : variable.value) = std::move(*text);
      } else {
        usable = false;
      }
    }
    if (!usable) continue;
    if (!is_variable_name(variable.name)) {
      reader.fail(item.line, fmt::format("`{}` cannot name a variable", variable.name),
                  "give each env item a `name` without `=`");
      continue;
    }
    if (variable.from) {
      if (!variable.value.empty()) {
        reader.fail(from_line, fmt::format("`{}` has both value and valueFrom", variable.name),
                    "keep one of them");
      }
      config.use(reader, from_line, *variable.from, spec);
      const std::string* const value = value_of(spec.config, *variable.from);
      if (value != nullptr && value->find('\0') != std::string::npos) {
        reader.fail(from_line,
                    fmt::format("key `{}` of {} has a NUL byte, which no variable can hold",
                                variable.from->key, variable.from->source.text()),
                    "correct it, or remove the variable");
      }
    }
    env.push_back(std::move(variable));
  }
}

void read_env_from(YamlReader& reader, ConfigFile& config, const YamlEntry& entry,
                   ServiceSpec& spec, std::vector<EnvFrom>& sources) {
  for (const YamlEntry& item : reader.items(entry, kItemsMax)) {
    EnvFrom all;
    const YamlKeys keys{{"prefix", "configMapRef", "secretRef"}};
    for (const YamlEntry& field : reader.entries(item.value, item.line, "envFrom", keys)) {
      if (field.key == "prefix") {
        all.prefix = reader.text(field).value_or("");
        if (all.prefix.find('=') != std::string::npos) {
          reader.fail(field.line, "`prefix` has a `=`", "remove it");
        }
        continue;
      }
      const auto kind = field.key == "secretRef" ? ConfigKind::secret : ConfigKind::config_map;
      ConfigKey read =
          reference_of(reader,
                       reader.entries(field.value, field.line, "configMapRef or secretRef",
                                      {{"name", "optional"}}),
                       field.line, kind);
      all.source = std::move(read.source);
      all.optional = read.optional;
    }
    if (all.source.name.empty()) {
      reader.fail(item.line, "an item of `envFrom` names no ConfigMap or Secret",
                  "write configMapRef or secretRef with a `name`");
      continue;
    }
    config.use(reader, item.line, all.source, all.optional, spec);
    sources.push_back(std::move(all));
  }
}

}  // namespace sluice::local
