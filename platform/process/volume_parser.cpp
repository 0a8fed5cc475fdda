// Volumes and where programs have them.

#include "platform/process/volume_parser.h"

#include "common/values/dns_label.h"
#include "common/values/whole_number.h"

#include <fmt/format.h>

#include <algorithm>

namespace sluice::local {
namespace {

constexpr std::size_t kVolumesMax = 100;
constexpr std::size_t kFilesMax = 10'000;
constexpr std::size_t kPathMax = 4096;
constexpr std::int64_t kModeMax = 0777;

/// `path` in its normal form, when it stays below the directory it is relative to.
std::optional<std::string> path_below(const std::string& path) {
  const auto normal = std::filesystem::path(path).lexically_normal();
  const bool stays = !path.empty() && path.size() <= kPathMax && normal.is_relative() &&
                     *normal.begin() != ".." && normal.has_filename() && normal != ".";
  return stays ? std::optional{normal.string()} : std::nullopt;
}

/// 0400 is octal, as in a cluster; 256 is the same in decimal.
std::optional<std::uint32_t> read_mode(YamlReader& reader, const YamlEntry& field) {
  const auto text = reader.text(field);
  if (!text || text->empty()) return std::nullopt;
  std::string digits = *text;
  if (digits.starts_with("0o")) digits.erase(1, 1);
  const bool octal = digits.size() > 1 && digits.front() == '0' &&
                     digits.find_first_not_of("01234567") == std::string::npos &&
                     digits.size() <= 5;
  if (octal) return static_cast<std::uint32_t>(std::stoul(digits, nullptr, 8));
  const auto mode = reader.integer(field, 0, kModeMax);
  return mode ? std::optional{static_cast<std::uint32_t>(*mode)} : std::nullopt;
}

void read_items(YamlReader& reader, const YamlEntry& entry,
                std::map<std::string, std::string>& items) {
  for (const YamlEntry& item : reader.items(entry, kFilesMax)) {
    std::string key;
    std::optional<std::string> path;
    const YamlKeys keys{{"key", "path"}, {"mode"}};
    for (const YamlEntry& field : reader.entries(item.value, item.line, "items", keys)) {
      auto text = reader.text(field);
      if (!text) continue;
      if (field.key == "key") {
        key = std::move(*text);
      } else {
        path = path_below(*text);
      }
    }
    if (key.empty() || !path) {
      reader.fail(item.line, "an item of a volume has no `key`, or no `path` below the volume",
                  "give each item both; the path is relative, without `..`");
      continue;
    }
    items.insert_or_assign(key, *path);
  }
}

void read_source(YamlReader& reader, ConfigFile& config, const YamlEntry& entry, ConfigKind kind,
                 ServiceSpec& spec, Volume& volume) {
  VolumeSource source{{kind, {}}, false, {}};
  const YamlKeys keys{{"name", "secretName", "items", "defaultMode", "optional"}};
  for (const YamlEntry& field :
       reader.entries(entry.value, entry.line, "configMap or secret", keys)) {
    if (field.key == "items") {
      read_items(reader, field, source.items);
    } else if (field.key == "defaultMode") {
      volume.mode = read_mode(reader, field);
    } else if (field.key == "optional") {
      source.optional = reader.boolean(field).value_or(false);
    } else {
      source.source.name = reader.text(field).value_or("");
    }
  }
  if (source.source.name.empty()) {
    reader.fail(entry.line, fmt::format("`{}` of a volume names no document", entry.key),
                kind == ConfigKind::secret ? "give it `secretName`" : "give it `name`");
    return;
  }
  config.use(reader, entry.line, source.source, source.optional, spec);
  for (const auto& [key, path] : source.items)
    config.use(reader, entry.line, ConfigKey{source.source, key, source.optional}, spec);
  volume.sources.push_back(std::move(source));
}

void read_projected(YamlReader& reader, ConfigFile& config, const YamlEntry& entry,
                    ServiceSpec& spec, Volume& volume) {
  const YamlKeys keys{{"sources", "defaultMode"}};
  for (const YamlEntry& field : reader.entries(entry.value, entry.line, "projected", keys)) {
    if (field.key == "defaultMode") {
      volume.mode = read_mode(reader, field);
      continue;
    }
    for (const YamlEntry& item : reader.items(field, kVolumesMax)) {
      const YamlKeys kinds{{"configMap", "secret"},
                           {"serviceAccountToken", "downwardAPI", "clusterTrustBundle"}};
      for (const YamlEntry& source :
           reader.entries(item.value, item.line, "projected.sources", kinds)) {
        read_source(reader, config, source,
                    source.key == "secret" ? ConfigKind::secret : ConfigKind::config_map, spec,
                    volume);
      }
    }
  }
}

/// One volume; nothing when none of its kinds has an effect.
std::optional<Volume> read_volume(YamlReader& reader, ConfigFile& config, const YamlEntry& item,
                                  ServiceSpec& spec, std::string& name) {
  Volume volume;
  int kinds = 0;
  const YamlKeys keys{
      {"name", "configMap", "secret", "emptyDir", "projected"},
      {"persistentVolumeClaim", "hostPath", "csi", "downwardAPI", "ephemeral", "nfs", "image"}};
  for (const YamlEntry& field : reader.entries(item.value, item.line, "volumes", keys)) {
    if (field.key == "name") {
      name = reader.text(field).value_or("");
      continue;
    }
    ++kinds;
    if (field.key == "projected") {
      read_projected(reader, config, field, spec, volume);
    } else if (field.key == "emptyDir") {
      const YamlKeys parts{{}, {"sizeLimit"}, {"medium"}};
      static_cast<void>(reader.entries(field.value, field.line, "emptyDir", parts));
    } else {
      read_source(reader, config, field,
                  field.key == "secret" ? ConfigKind::secret : ConfigKind::config_map, spec,
                  volume);
    }
  }
  if (kinds > 1) reader.fail(item.line, "a volume has several kinds", "keep one of them");
  volume.name = name;
  return kinds == 0 ? std::nullopt : std::optional{std::move(volume)};
}

}  // namespace

PassedVolumes read_volumes(YamlReader& reader, ConfigFile& config, const YamlEntry& entry,
                           ServiceSpec& spec) {
  PassedVolumes passed;
  for (const YamlEntry& item : reader.items(entry, kVolumesMax)) {
    std::string name;
    auto volume = read_volume(reader, config, item, spec, name);
    const bool twice = passed.contains(name) ||
                       std::any_of(spec.volumes.begin(), spec.volumes.end(),
                                   [&](const Volume& other) { return other.name == name; });
    // It names a directory.
    if (!is_dns_label(name)) {
      reader.fail(item.line, fmt::format("`{}` cannot name a volume", name.substr(0, 80)),
                  "give it a `name` of 1 to 63 of a-z, 0-9 and -");
    } else if (twice) {
      reader.fail(item.line, fmt::format("two volumes are named `{}`", name), "rename one");
    } else if (volume) {
      spec.volumes.push_back(std::move(*volume));
    } else {
      passed.insert(name);
    }
  }
  return passed;
}

void read_mounts(YamlReader& reader, const YamlEntry& entry, const ServiceSpec& spec,
                 const PassedVolumes& passed, bool in_container, std::vector<VolumeMount>& mounts) {
  for (const YamlEntry& item : reader.items(entry, kVolumesMax)) {
    VolumeMount mount;
    const YamlKeys keys{{"name", "mountPath", "subPath"},
                        {"subPathExpr", "mountPropagation", "recursiveReadOnly"},
                        {"readOnly"}};
    for (const YamlEntry& field : reader.entries(item.value, item.line, "volumeMounts", keys)) {
      auto text = reader.text(field);
      if (!text || text->empty()) continue;
      if (field.key == "name") {
        mount.volume = std::move(*text);
      } else if (field.key == "mountPath") {
        mount.path = std::filesystem::path(*text).lexically_normal().string();
        if (mount.path.size() > 1 && mount.path.back() == '/') mount.path.pop_back();
      } else if (const auto below = path_below(*text)) {
        mount.sub_path = *below;
      } else {
        reader.fail(field.line, "`subPath` does not stay below the volume",
                    "write a relative path without `..`");
      }
    }
    const bool known =
        std::any_of(spec.volumes.begin(), spec.volumes.end(),
                    [&](const Volume& volume) { return volume.name == mount.volume; });
    if (mount.path.size() < 2 || mount.path.front() != '/' || mount.path.size() > kPathMax) {
      reader.fail(item.line, "a mount has no `mountPath`", "give it an absolute path, not /");
    } else if (passed.contains(mount.volume)) {
      reader.warn(item.line, fmt::format("`{}` has no effect: volume {} has none on one machine",
                                         mount.path, mount.volume));
    } else if (!known) {
      reader.fail(item.line, fmt::format("no volume is named `{}`", mount.volume.substr(0, 80)),
                  "add it under spec.template.spec.volumes");
    } else if (in_container && mount.path.find(':') != std::string::npos) {
      reader.fail(item.line, "a `mountPath` has a colon", "write a path without one");
    } else {
      if (!in_container) {
        reader.warn(item.line, fmt::format("`{}` is not mounted on one machine: each replica has "
                                           "volume {} in a directory of its own, whose path takes "
                                           "the place of `{}` in command, args and env",
                                           mount.path, mount.volume, mount.path));
      }
      mounts.push_back(std::move(mount));
    }
  }
}

}  // namespace sluice::local
