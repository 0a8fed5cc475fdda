#include "platform/process/engine_settings.h"

#include "common/scaling/cluster_config.h"

#include <fmt/format.h>

#include "platform/process/quantity.h"
#include "platform/process/yaml_reader.h"
#include <algorithm>

namespace sluice::local {
namespace {

constexpr std::size_t kSettingsBytesMax = std::size_t{1} << 20;
constexpr std::int64_t kReplicasMax = 10'000;  // one port each
constexpr std::size_t kDashboardHostsMax = 100;
constexpr std::size_t kHostBytesMax = 253;
constexpr std::int64_t kQueueMax = 10'000'000;
constexpr std::int64_t kConnectionsMax = 1'000'000;
constexpr std::int64_t kHeaderBytesLeast = 1024;
constexpr std::int64_t kHeaderBytesMost = 16 << 20;

/// Reads one settings file into settings that hold the defaults.
class SettingsReading {
 public:
  SettingsReading(YamlReader& reader, EngineSettings& settings)
      : reader_(reader), settings_(settings) {}

  void read(const YAML::Node& document) {
    const YamlKeys keys{{"http", "max-replicas", "stop-timeout", "log-level", "log-format",
                         "cold-start-header", "autoscaler", "defaults", "groups", "queue", "limits",
                         "dashboard"}};
    for (const YamlEntry& entry : reader_.entries(document, 1, "config", keys)) {
      if (entry.key == "autoscaler") {
        read_autoscaler(entry);
      } else if (entry.key == "defaults") {
        read_defaults(entry);
      } else if (entry.key == "queue") {
        read_queue(entry);
      } else if (entry.key == "dashboard") {
        read_dashboard(entry);
      } else if (entry.key == "limits") {
        read_limits(entry);
      } else if (entry.key == "groups") {
        if (reader_.items(entry, 1000).empty()) continue;
        settings_.groups_yaml = YAML::Dump(entry.value);
        came_from(entry.key, entry);
      } else {
        read_plain(entry);
      }
    }
  }

 private:
  void came_from(const std::string& key, const YamlEntry& entry) {
    settings_.origins[key] = reader_.place(entry.line);
  }

  void word(const YamlEntry& entry, std::initializer_list<const char*> allowed,
            std::string& target) {
    const auto text = reader_.text(entry);
    if (!text) return;
    if (std::none_of(allowed.begin(), allowed.end(),
                     [&](const char* one) { return *text == one; })) {
      reader_.fail(entry.line, fmt::format("`{}` is `{}`", entry.key, text->substr(0, 80)),
                   fmt::format("use one of {}", fmt::join(allowed, ", ")));
      return;
    }
    target = *text;
  }

  void read_plain(const YamlEntry& entry) {
    came_from(entry.key, entry);
    if (entry.key == "http") {
      if (const auto text = reader_.text(entry)) {
        if (text->find(':') == std::string::npos)
          reader_.fail(entry.line, "`http` is not an address", "write it like 127.0.0.1:8080");
        else
          settings_.http = *text;
      }
    } else if (entry.key == "max-replicas") {
      if (const auto number = reader_.integer(entry, 1, kReplicasMax))
        settings_.max_replicas = static_cast<std::int32_t>(*number);
    } else if (entry.key == "stop-timeout") {
      duration(entry, settings_.stop_timeout);
    } else if (entry.key == "log-level") {
      word(entry, {"debug", "info", "warn", "error"}, settings_.log_level);
    } else if (entry.key == "log-format") {
      word(entry, {"auto", "text", "json"}, settings_.log_format);
    } else if (const auto flag = reader_.boolean(entry)) {
      settings_.cold_start_header = *flag;
    }
  }

  void duration(const YamlEntry& entry, Duration& target) {
    const auto text = reader_.text(entry);
    if (!text) return;
    if (const auto value = reader_.checked(entry, parse_duration(*text))) target = *value;
  }

  // The keys of `config-autoscaler`. A cluster ignores what it does not know, its "_example" among
  // them; here a misspelt key is an error.
  void read_autoscaler(const YamlEntry& entry) {
    const std::vector<std::string> known = autoscaler::cluster_config_keys();
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
      came_from("autoscaler." + pair.key, pair);
    }
    // Where 0 is no longer allowed, our own default of it is not either.
    if (settings_.autoscaler.at("allow-zero-initial-scale") != "true" &&
        !settings_.origins.contains("autoscaler.initial-scale")) {
      settings_.autoscaler.erase("initial-scale");
    }
  }

  void read_defaults(const YamlEntry& entry) {
    const YamlKeys keys{{"timeout-seconds", "container-concurrency"}};
    for (const YamlEntry& field : reader_.entries(entry.value, entry.line, entry.key, keys)) {
      came_from("defaults." + field.key, field);
      if (field.key == "timeout-seconds") {
        if (const auto number = reader_.integer(field, 1, 7 * 24 * 3600))
          settings_.defaults.timeout = std::chrono::seconds{*number};
      } else if (const auto number = reader_.integer(field, 0, 1000)) {
        settings_.defaults.container_concurrency = static_cast<std::int32_t>(*number);
      }
    }
  }

  void read_queue(const YamlEntry& entry) {
    const YamlKeys keys{{"depth", "total", "bytes", "wait"}};
    for (const YamlEntry& field : reader_.entries(entry.value, entry.line, entry.key, keys)) {
      came_from("queue." + field.key, field);
      if (field.key == "wait") {
        duration(field, settings_.queue.wait);
      } else if (field.key == "bytes") {
        const auto text = reader_.text(field);
        if (!text) continue;
        if (const auto bytes = reader_.checked(field, parse_size(*text)))
          settings_.queue.bytes = *bytes;
      } else if (const auto number = reader_.integer(field, 0, kQueueMax)) {
        (field.key == "depth" ? settings_.queue.depth : settings_.queue.total) = *number;
      }
    }
  }

  void read_dashboard(const YamlEntry& entry) {
    const YamlKeys keys{{"peers", "hosts"}};
    for (const YamlEntry& field : reader_.entries(entry.value, entry.line, entry.key, keys)) {
      came_from("dashboard." + field.key, field);
      if (field.key == "hosts") {
        read_dashboard_hosts(field);
        continue;
      }
      std::string peers = "loopback";
      word(field, {"loopback", "any"}, peers);
      settings_.dashboard.any_peer = peers == "any";
    }
  }

  void read_dashboard_hosts(const YamlEntry& entry) {
    for (const YamlEntry& item : reader_.items(entry, kDashboardHostsMax)) {
      const auto text = reader_.text(item);
      if (!text) continue;
      const bool bare = !text->empty() && text->size() <= kHostBytesMax &&
                        text->find_first_of(" /:@?#*") == std::string::npos;
      if (bare) {
        settings_.dashboard.hosts.push_back(*text);
      } else {
        reader_.fail(item.line, fmt::format("`{}` is not a host", text->substr(0, 80)),
                     "write a bare name such as box.example.com, without scheme and port");
      }
    }
  }

  void read_limits(const YamlEntry& entry) {
    LimitSettings& limits = settings_.limits;
    const YamlKeys keys{{"header-bytes", "connections", "write-timeout"}};
    for (const YamlEntry& field : reader_.entries(entry.value, entry.line, entry.key, keys)) {
      came_from("limits." + field.key, field);
      if (field.key == "write-timeout") {
        duration(field, limits.write_timeout);
      } else if (field.key == "connections") {
        if (const auto number = reader_.integer(field, 1, kConnectionsMax))
          limits.connections = *number;
      } else if (const auto text = reader_.text(field)) {
        const auto bytes = reader_.checked(field, parse_size(*text));
        if (!bytes) continue;
        limits.header_bytes = *bytes;
        if (*bytes < kHeaderBytesLeast || *bytes > kHeaderBytesMost) {
          reader_.fail(field.line, fmt::format("`header-bytes` is `{}`", text->substr(0, 80)),
                       "use 1Ki to 16Mi");
        }
      }
    }
  }

  YamlReader& reader_;
  EngineSettings& settings_;
};

}  // namespace

Result<EngineSettings, std::vector<Problem>> parse_engine_settings(std::string_view yaml,
                                                                   const std::string& file_name) {
  YamlReader reader(file_name);
  EngineSettings settings;
  try {
    const auto documents = reader.documents(yaml, kSettingsBytesMax);
    if (documents.size() > 1) reader.fail(1, "more than one document", "keep the settings in one");
    if (!documents.empty()) SettingsReading(reader, settings).read(documents.front());
  } catch (const YAML::Exception& problem) {
    reader.fail(problem.mark.line + 1, problem.msg, "correct the YAML there");
  }
  if (reader.failed()) return reader.take_problems();
  return settings;
}

Result<EngineSettings, std::vector<Problem>> load_engine_settings(
    const std::optional<std::filesystem::path>& given,
    const std::vector<std::filesystem::path>& search) {
  std::optional<std::filesystem::path> chosen = given;
  for (const auto& path : search) {
    std::error_code missing;
    if (!chosen && std::filesystem::exists(path, missing)) chosen = path;
  }
  if (!chosen) return EngineSettings{};
  const auto text = read_spec_file(*chosen);
  if (!text) return std::vector<Problem>{text.error()};
  return parse_engine_settings(*text, chosen->string());
}

}  // namespace sluice::local
