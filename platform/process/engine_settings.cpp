#include "platform/process/engine_settings.h"

#include "common/scaling/cluster_config.h"
#include "common/values/closest_name.h"
#include "common/values/whole_number.h"
#include "common/yaml/yaml_reader.h"

#include <fmt/format.h>

#include "platform/process/cores.h"
#include "platform/process/setting_table.h"
#include <algorithm>

namespace sluice::local {
namespace {

constexpr std::size_t kSettingsBytesMax = std::size_t{1} << 20;
constexpr const char* kAutoscaler = "autoscaler";
constexpr const char* kPlacement = "placement";

/// The keys of the document, or of one section of it; sections once each.
std::vector<std::string> keys_of(std::string_view section) {
  std::vector<std::string> keys;
  for (const Setting& setting : setting_table()) {
    std::string key{setting.section == section ? setting.key : setting.section};
    const bool here = setting.section == section || section.empty();
    if (here && std::find(keys.begin(), keys.end(), key) == keys.end()) {
      keys.push_back(std::move(key));
    }
  }
  if (section.empty()) keys.emplace_back(kAutoscaler);
  return keys;
}

const Setting* setting_named(std::string_view section, std::string_view key) {
  for (const Setting& setting : setting_table()) {
    if (setting.section == section && setting.key == key) return &setting;
  }
  return nullptr;
}

/// Reads one settings file into settings that hold the defaults.
class SettingsReading {
 public:
  SettingsReading(YamlReader& reader, std::span<const int> cores, EngineSettings& settings)
      : reader_(reader), cores_(cores), settings_(settings) {}

  void read(const YAML::Node& document) {
    for (const YamlEntry& entry : reader_.known_entries(document, 1, "config", keys_of(""))) {
      if (entry.key == kAutoscaler) {
        read_autoscaler(entry);
      } else if (const Setting* plain = setting_named("", entry.key)) {
        read_one(*plain, entry);
      } else {
        read_section(entry);
      }
    }
  }

  // The keys of one section, which the entry names.
  void read_section(const YamlEntry& entry) {
    for (const YamlEntry& field :
         reader_.known_entries(entry.value, entry.line, entry.key, keys_of(entry.key))) {
      if (const Setting* setting = setting_named(entry.key, field.key)) read_one(*setting, field);
    }
  }

 private:
  void came_from(const std::string& key, const YamlEntry& entry) {
    settings_.origins[key] = reader_.place(entry.line);
  }

  void read_one(const Setting& setting, const YamlEntry& entry) {
    came_from(setting.name(), entry);
    setting.read(reader_, entry, cores_, settings_);
  }

  // The keys of `config-autoscaler`. A cluster ignores what it does not know, its "_example" among
  // them; here a misspelt key is an error.
  void read_autoscaler(const YamlEntry& entry) {
    std::vector<std::string> known;
    for (const auto& key : autoscaler::cluster_config_keys()) known.push_back(key.name);
    std::map<std::string, int> lines;
    for (const YamlEntry& pair : reader_.any_entries(entry.value, entry.line, entry.key)) {
      if (pair.key == "_example") continue;
      if (std::find(known.begin(), known.end(), pair.key) == known.end()) {
        const auto meant = closest_name(pair.key, known);
        reader_.fail(pair.line, fmt::format("unknown key `{}` in `autoscaler`", pair.key),
                     meant ? fmt::format("did you mean `{}`?", *meant)
                           : fmt::format("known are {}", fmt::join(known, ", ")));
        continue;
      }
      const auto text = reader_.text(pair);
      if (!text) continue;
      settings_.autoscaler[pair.key] = *text;
      lines[pair.key] = pair.line;
      came_from("autoscaler." + pair.key, pair);
    }
    // Where 0 is no longer allowed, our own default of it is not either.
    if (settings_.autoscaler.at("allow-zero-initial-scale") != "true" &&
        !settings_.origins.contains("autoscaler.initial-scale")) {
      settings_.autoscaler.erase("initial-scale");
    }
    judge_autoscaler(entry.line, lines);
  }

  // By the autoscaler's own rules; a rule between two keys may name one that is not in the file.
  void judge_autoscaler(int section, const std::map<std::string, int>& lines) {
    const autoscaler::StringMap keys{settings_.autoscaler.begin(), settings_.autoscaler.end()};
    for (auto& wrong : autoscaler::cluster_config_problems(keys)) {
      const auto line = lines.find(wrong.key);
      reader_.fail(line == lines.end() ? section : line->second, std::move(wrong.problem.what),
                   std::move(wrong.problem.fix));
    }
  }

  YamlReader& reader_;
  std::span<const int> cores_;
  EngineSettings& settings_;
};

std::string origin_of(const EngineSettings& settings, const std::string& key) {
  const auto found = settings.origins.find(key);
  return found == settings.origins.end() ? std::string{} : found->second;
}

}  // namespace

std::vector<SettingLine> setting_lines(const EngineSettings& settings) {
  const EngineSettings defaults;
  std::vector<SettingLine> lines;
  for (const Setting& setting : setting_table()) {
    std::string name = setting.name();
    std::string origin = origin_of(settings, name);
    lines.push_back({.key = std::move(name),
                     .type = setting.type(),
                     .fallback = setting.shown(defaults),
                     .value = setting.shown(settings),
                     .origin = std::move(origin),
                     .meaning = std::string{setting.meaning}});
  }
  for (auto& key : autoscaler::cluster_config_keys()) {
    const auto ours = defaults.autoscaler.find(key.name);
    const auto now = settings.autoscaler.find(key.name);
    if (ours != defaults.autoscaler.end()) key.fallback = ours->second;
    const std::string name = fmt::format("{}.{}", kAutoscaler, key.name);
    lines.push_back({.key = name,
                     .type = key.accepted,
                     .fallback = key.fallback,
                     .value = now == settings.autoscaler.end() ? key.fallback : now->second,
                     .origin = origin_of(settings, name),
                     .meaning = key.meaning});
  }
  return lines;
}

namespace {

// The settings of one document, which `read` takes apart.
template <class Read>
Result<EngineSettings, std::vector<Problem>> parse(std::string_view yaml,
                                                   const std::string& file_name,
                                                   std::span<const int> cores, const Read& read) {
  YamlReader reader(file_name);
  EngineSettings settings;
  try {
    const auto documents = reader.documents(yaml, kSettingsBytesMax);
    if (documents.size() > 1) reader.fail(1, "more than one document", "keep the settings in one");
    if (!documents.empty()) {
      SettingsReading reading(reader, cores, settings);
      read(reading, documents.front());
    }
  } catch (const YAML::Exception& problem) {
    reader.fail(problem.mark.line + 1, problem.msg, "correct the YAML there");
  }
  if (reader.failed()) return reader.take_problems();
  return settings;
}

}  // namespace

Result<EngineSettings, std::vector<Problem>> parse_engine_settings(std::string_view yaml,
                                                                   const std::string& file_name,
                                                                   std::span<const int> cores) {
  return parse(yaml, file_name, cores, [](SettingsReading& reading, const YAML::Node& document) {
    reading.read(document);
  });
}

Result<placement::Rules, std::vector<Problem>> parse_placement(std::string_view yaml,
                                                               const std::string& file_name,
                                                               std::span<const int> cores) {
  const auto read = [](SettingsReading& reading, const YAML::Node& document) {
    if (document.IsMap() && document["policies"]) {
      reading.read_section({.key = kPlacement, .line = 1, .value = document});
    } else {
      reading.read(document);
    }
  };
  auto settings = parse(yaml, file_name, cores, read);
  if (!settings) return settings.error();
  return std::move(settings->placement);
}

std::vector<std::string> changed_settings(const EngineSettings& before, const EngineSettings& now) {
  const std::vector<SettingLine> old = setting_lines(before);
  const std::vector<SettingLine> fresh = setting_lines(now);  // of the same keys
  std::vector<std::string> changed;
  for (std::size_t at = 0; at < old.size(); ++at) {
    if (old[at].value != fresh[at].value) changed.push_back(old[at].key);
  }
  return changed;
}

void complete_command(ServiceSpec& spec, bool limit_given, const EngineSettings& settings) {
  constexpr const char* kTarget = "autoscaling.knative.dev/target";
  constexpr const char* kMin = "autoscaling.knative.dev/min-scale";
  constexpr const char* kMax = "autoscaling.knative.dev/max-scale";
  constexpr std::int32_t kUsualMax = 8;
  spec.timeout = settings.defaults.timeout;
  if (!limit_given) spec.container_concurrency = settings.defaults.container_concurrency;
  auto& annotations = spec.template_annotations;
  const auto is_set = [&settings](const char* key) { return settings.autoscaler.contains(key); };
  if (!is_set("container-concurrency-target-default")) annotations.try_emplace(kTarget, "10");
  if (is_set("max-scale") || is_set("max-scale-limit")) return;
  const auto min = annotations.find(kMin);
  const auto least =
      min == annotations.end() ? std::nullopt : whole_number<std::int32_t>(min->second);
  annotations.try_emplace(kMax, fmt::format("{}", std::max(kUsualMax, least.value_or(0))));
}

std::optional<std::filesystem::path> chosen_settings_file(
    const std::optional<std::filesystem::path>& given,
    const std::vector<std::filesystem::path>& search) {
  if (given) return given;
  for (const auto& path : search) {
    std::error_code missing;
    if (std::filesystem::exists(path, missing)) return path;
  }
  return std::nullopt;
}

Result<EngineSettings, std::vector<Problem>> load_engine_settings(
    const std::optional<std::filesystem::path>& given,
    const std::vector<std::filesystem::path>& search) {
  const auto chosen = chosen_settings_file(given, search);
  if (!chosen) return EngineSettings{};
  const auto text = read_spec_file(*chosen);
  if (!text) return std::vector<Problem>{text.error()};
  return parse_engine_settings(*text, shown_name(*chosen), own_cores());
}

}  // namespace sluice::local
