#include "platform/process/setting_table.h"

#include "common/values/whole_number.h"
#include "common/yaml/yaml_reader.h"

#include <fmt/format.h>

#include "platform/process/placement_settings.h"
#include "platform/process/quantity.h"
#include <algorithm>
#include <optional>

namespace sluice::local {
namespace {

constexpr std::int64_t kReplicasMax = 10'000;  // one port each
constexpr std::size_t kDashboardHostsMax = 100;
constexpr std::size_t kHostBytesMax = 253;
constexpr std::int64_t kQueueMax = 10'000'000;
constexpr std::int64_t kConnectionsMax = 1'000'000;
constexpr std::int64_t kHeaderBytesLeast = 1024;
constexpr std::int64_t kHeaderBytesMost = 16 << 20;
constexpr std::int64_t kTimeoutSecondsMax = 7 * 24 * 3600;
constexpr std::int64_t kConcurrencyMax = 1000;
constexpr std::size_t kWrongTextMax = 80;
constexpr std::int64_t kMovesMost = 16;
constexpr std::int64_t kWorthMost = 1000;

using S = EngineSettings;

constexpr std::array kSettings{
    Setting{.section = "",
            .key = "http",
            .meaning = "front door; the default moves on to the next free port up to 8099",
            .place = +[](S& s) -> std::string& { return s.http; },
            .form = SettingForm::address},
    Setting{.section = "",
            .key = "max-replicas",
            .meaning = "most replicas over all services",
            .place = +[](S& s) -> std::int32_t& { return s.max_replicas; },
            .least = 1,
            .most = kReplicasMax},
    Setting{.section = "",
            .key = "stop-timeout",
            .meaning = "how long requests in flight may take when the engine stops",
            .place = +[](S& s) -> Duration& { return s.stop_timeout; }},
    Setting{.section = "",
            .key = "log-level",
            .meaning = "least severity of what the engine reports on standard error, beside events",
            .place = +[](S& s) -> std::string& { return s.log_level; },
            .words = {"debug", "info", "warn", "error"}},
    Setting{
        .section = "",
        .key = "log-format",
        .meaning =
            "form of such reports; auto: text on a terminal, else json; events as JSON: up -o json",
        .place = +[](S& s) -> std::string& { return s.log_format; },
        .words = {"auto", "text", "json"}},
    Setting{.section = "",
            .key = "cold-start-header",
            .meaning = "whether answers that waited for a start have the header Sluice-Cold-Start",
            .place = +[](S& s) -> bool& { return s.cold_start_header; }},
    Setting{.section = "",
            .key = "container-runtime",
            .meaning = "what runs an image; auto: podman, else docker",
            .place = +[](S& s) -> std::string& { return s.defaults.container_runtime; },
            .words = {"auto", "podman", "docker"}},
    Setting{.section = "",
            .key = "groups",
            .meaning = "parts of the machine with room of their own, each a mapping of name, "
                       "preference, cpu, memory, replicas, cpus, labels",
            .place = +[](S& s) -> std::vector<MachineGroup>& { return s.groups; }},
    Setting{.section = "placement",
            .key = "policies",
            .meaning = "which services are moved, each a mapping of name, mode, select, triggers, "
                       "algorithms; the first that names a trigger decides",
            .place = +[](S& s) -> std::vector<placement::MigrationPolicy>& {
              return s.placement.policies;
            }},
    Setting{.section = "placement",
            .key = "max-moves-per-demand",
            .meaning = "most services that are moved to make room for one that waits; 0 = none",
            .place = +[](S& s) -> std::int32_t& { return s.placement.plan.moves_max; },
            .most = kMovesMost},
    Setting{.section = "placement",
            .key = "worth-k",
            .meaning = "services are moved if what is gained is at least one in this many of what "
                       "it disturbs",
            .place = +[](S& s) -> std::int64_t& { return s.placement.plan.worth_divisor; },
            .least = 1,
            .most = kWorthMost},
    Setting{.section = "placement",
            .key = "cool-down",
            .meaning = "how long a service that was moved is not moved again, but by hand or out "
                       "of a place that is drained",
            .place = +[](S& s) -> Duration& { return s.placement.moves.service_pause; }},
    Setting{.section = "placement",
            .key = "minimum-age",
            .meaning = "how long the youngest replica of a service runs before it is moved",
            .place = +[](S& s) -> Duration& { return s.placement.plan.minimum_age; }},
    Setting{.section = "placement",
            .key = "home-hold",
            .meaning = "how long a place that is liked more has room before a service goes back",
            .place = +[](S& s) -> Duration& { return s.placement.home.hold; }},
    Setting{.section = "placement",
            .key = "shift-hold",
            .meaning = "how long the requests of each step of a move are watched",
            .place = +[](S& s) -> Duration& { return s.placement.moves.shift_hold; }},
    Setting{.section = "defaults",
            .key = "timeout-seconds",
            .meaning = "longest time of a request, where a service sets none",
            .place = +[](S& s) -> std::chrono::seconds& { return s.defaults.timeout; },
            .least = 1,
            .most = kTimeoutSecondsMax},
    Setting{
        .section = "defaults",
        .key = "container-concurrency",
        .meaning = "hard limit of requests per replica, where a service sets none; 0 = no limit",
        .place = +[](S& s) -> std::int32_t& { return s.defaults.container_concurrency; },
        .most = kConcurrencyMax},
    Setting{.section = "queue",
            .key = "depth",
            .meaning = "most requests held for one revision",
            .place = +[](S& s) -> std::int64_t& { return s.queue.depth; },
            .most = kQueueMax},
    Setting{.section = "queue",
            .key = "total",
            .meaning = "most requests held over all revisions",
            .place = +[](S& s) -> std::int64_t& { return s.queue.total; },
            .most = kQueueMax},
    Setting{.section = "queue",
            .key = "bytes",
            .meaning = "most bytes of the heads and bodies of held requests",
            .place = +[](S& s) -> std::int64_t& { return s.queue.bytes; },
            .form = SettingForm::size},
    Setting{.section = "queue",
            .key = "wait",
            .meaning = "longest time that a request is held; 0s = the request's own timeout",
            .place = +[](S& s) -> Duration& { return s.queue.wait; }},
    Setting{.section = "limits",
            .key = "header-bytes",
            .meaning = "most bytes of a request's head; 431 above",
            .place = +[](S& s) -> std::int64_t& { return s.limits.header_bytes; },
            .form = SettingForm::size,
            .least = kHeaderBytesLeast,
            .most = kHeaderBytesMost},
    Setting{.section = "limits",
            .key = "connections",
            .meaning = "most connections of clients; at most three quarters of the open files",
            .place = +[](S& s) -> std::int64_t& { return s.limits.connections; },
            .least = 1,
            .most = kConnectionsMax},
    Setting{
        .section = "limits",
        .key = "write-timeout",
        .meaning = "after which a client that takes nothing of its response is dropped; 0s = never",
        .place = +[](S& s) -> Duration& { return s.limits.write_timeout; }},
    Setting{.section = "dashboard",
            .key = "peers",
            .meaning =
                "whose requests below /_sluice/ are answered; any: with the token of the start, by "
                "a name in hosts",
            .place = +[](S& s) -> std::string& { return s.dashboard.peers; },
            .words = {"loopback", "any"}},
    Setting{.section = "dashboard",
            .key = "hosts",
            .meaning = "names besides localhost that the engine answers to below /_sluice/",
            .place = +[](S& s) -> std::vector<std::string>& { return s.dashboard.hosts; },
            .form = SettingForm::hosts},
};

std::span<const char* const> words_of(const Setting& setting) {
  const auto end = std::find(setting.words.begin(), setting.words.end(), nullptr);
  return {setting.words.begin(), end};
}

void read_hosts(YamlReader& reader, const YamlEntry& entry, std::vector<std::string>& hosts) {
  for (const YamlEntry& item : reader.items(entry, kDashboardHostsMax)) {
    const auto text = reader.text(item);
    if (!text) continue;
    const bool bare = !text->empty() && text->size() <= kHostBytesMax &&
                      text->find_first_of(" /:@?#*") == std::string::npos;
    if (bare) {
      hosts.push_back(*text);
    } else {
      reader.fail(item.line, fmt::format("`{}` is not a host", text->substr(0, kWrongTextMax)),
                  "write a bare name such as box.example.com, without scheme and port");
    }
  }
}

void read_word(YamlReader& reader, const YamlEntry& entry, std::span<const char* const> words,
               std::string& target) {
  const auto text = reader.text(entry);
  if (!text) return;
  if (std::none_of(words.begin(), words.end(), [&](const char* one) { return *text == one; })) {
    reader.fail(entry.line, fmt::format("`{}` is `{}`", entry.key, text->substr(0, kWrongTextMax)),
                fmt::format("use one of {}", fmt::join(words, ", ")));
    return;
  }
  target = *text;
}

void read_address(YamlReader& reader, const YamlEntry& entry, std::string& target) {
  const auto text = reader.text(entry);
  if (!text) return;
  const std::size_t colon = text->rfind(':');
  if (colon == std::string::npos || !whole_number<std::uint16_t>(text->substr(colon + 1))) {
    reader.fail(entry.line, fmt::format("`{}` is not an address", entry.key),
                "write it like 127.0.0.1:8080");
  } else {
    target = *text;
  }
}

void read_bytes(YamlReader& reader, const YamlEntry& entry, const Setting& setting,
                std::int64_t& target) {
  const auto text = reader.text(entry);
  if (!text) return;
  const auto bytes = reader.checked(entry, parse_size(*text));
  if (!bytes) return;
  if (setting.most > 0 && (*bytes < setting.least || *bytes > setting.most)) {
    reader.fail(entry.line, fmt::format("`{}` is `{}`", entry.key, text->substr(0, kWrongTextMax)),
                fmt::format("use {} to {}", format_size(setting.least), format_size(setting.most)));
    return;
  }
  target = *bytes;
}

// Reads the value of one key into the field of its type.
struct Reading {
  YamlReader& reader;
  const YamlEntry& entry;
  const Setting& setting;
  std::span<const int> cores;

  void operator()(std::string& field) const {
    if (setting.form == SettingForm::address) {
      read_address(reader, entry, field);
    } else {
      read_word(reader, entry, words_of(setting), field);
    }
  }

  void operator()(bool& field) const {
    if (const auto flag = reader.boolean(entry)) field = *flag;
  }

  void operator()(Duration& field) const {
    const auto text = reader.text(entry);
    if (!text) return;
    if (const auto value = reader.checked(entry, parse_duration(*text))) field = *value;
  }

  void operator()(std::vector<std::string>& field) const { read_hosts(reader, entry, field); }

  void operator()(std::vector<MachineGroup>& field) const {
    field = read_groups(reader, entry, cores);
  }

  void operator()(std::vector<placement::MigrationPolicy>& field) const {
    field = read_policies(reader, entry);
  }

  void operator()(std::int64_t& field) const {
    if (setting.form == SettingForm::size) {
      read_bytes(reader, entry, setting, field);
    } else if (const auto number = whole()) {
      field = *number;
    }
  }

  void operator()(std::int32_t& field) const {
    if (const auto number = whole()) field = static_cast<std::int32_t>(*number);
  }

  void operator()(std::chrono::seconds& field) const {
    if (const auto number = whole()) field = std::chrono::seconds{*number};
  }

  [[nodiscard]] std::optional<std::int64_t> whole() const {
    return reader.integer(entry, setting.least, setting.most);
  }
};

// The text that Reading takes back.
struct Showing {
  const Setting& setting;

  std::string operator()(const std::string& field) const { return field; }

  std::string operator()(bool field) const { return field ? "true" : "false"; }

  std::string operator()(Duration field) const { return format_duration(field); }

  std::string operator()(const std::vector<std::string>& field) const {
    return fmt::format("{}", fmt::join(field, ", "));
  }

  std::string operator()(const std::vector<MachineGroup>& field) const {
    return format_groups(field);
  }

  std::string operator()(const std::vector<placement::MigrationPolicy>& field) const {
    return format_policies(field);
  }

  std::string operator()(std::int64_t field) const {
    return setting.form == SettingForm::size ? format_size(field) : std::to_string(field);
  }

  std::string operator()(std::int32_t field) const { return std::to_string(field); }

  std::string operator()(std::chrono::seconds field) const { return std::to_string(field.count()); }
};

struct Typing {
  const Setting& setting;

  std::string operator()(const std::string&) const {
    if (setting.form == SettingForm::address) return "HOST:PORT";
    return fmt::format("one of {}", fmt::join(words_of(setting), ", "));
  }

  std::string operator()(bool) const { return "true or false"; }

  std::string operator()(Duration) const { return "duration such as 10s or 1m30s"; }

  std::string operator()(const std::vector<std::string>&) const { return "list of host names"; }

  std::string operator()(const std::vector<MachineGroup>&) const { return "list of groups"; }

  std::string operator()(const std::vector<placement::MigrationPolicy>&) const {
    return "list of policies";
  }

  std::string operator()(std::int64_t) const {
    if (setting.form != SettingForm::size) return whole();
    if (setting.most == 0) return "size such as 512Mi";
    return fmt::format("size from {} to {}", format_size(setting.least), format_size(setting.most));
  }

  std::string operator()(std::int32_t) const { return whole(); }

  std::string operator()(std::chrono::seconds) const { return whole(); }

  [[nodiscard]] std::string whole() const {
    return fmt::format("whole number from {} to {}", setting.least, setting.most);
  }
};

}  // namespace

std::string Setting::name() const {
  return section.empty() ? std::string{key} : fmt::format("{}.{}", section, key);
}

std::string Setting::type() const {
  EngineSettings settings;
  return std::visit([&](const auto at) { return Typing{*this}(at(settings)); }, place);
}

std::string Setting::shown(const EngineSettings& settings) const {
  EngineSettings copy = settings;
  return std::visit([&](const auto at) { return Showing{*this}(at(copy)); }, place);
}

void Setting::read(YamlReader& reader, const YamlEntry& entry, std::span<const int> cores,
                   EngineSettings& settings) const {
  std::visit([&](const auto at) { Reading{reader, entry, *this, cores}(at(settings)); }, place);
}

std::span<const Setting> setting_table() {
  return kSettings;
}

}  // namespace sluice::local
