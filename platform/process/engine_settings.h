#pragma once

#include "autoscaler/placement/core/rules.h"
#include "common/base/result.h"
#include "common/time/time_point.h"

#include "platform/process/machine_group.h"
#include "platform/process/service_spec.h"
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::local {

/// How many requests may be held at once (activator.md 14.3).
struct QueueSettings {
  std::int64_t depth = 10'000;                   ///< per revision
  std::int64_t total = 50'000;                   ///< over all
  std::int64_t bytes = std::int64_t{512} << 20;  ///< of held bodies and heads
  Duration wait{0};                              ///< longest age of a held request; 0 = no limit
};

/// The peers that the front door answers below `/_sluice/` besides programs of this machine that
/// use its loopback by name. With either of them every request there needs the token of this start.
struct DashboardSettings {
  std::string peers = "loopback";  ///< or `any`
  std::vector<std::string> hosts;  ///< names that may stand in Host, without ports

  [[nodiscard]] bool any_peer() const { return peers == "any"; }
};

/// What a client of the front door may take.
struct LimitSettings {
  std::int64_t header_bytes = 64 * 1024;  ///< of one request; 431 above
  std::int64_t connections = 16'384;      ///< three quarters of the files allowed, if that is less
  /// For a client that takes none of its response in that time, here and at the sidecars; 0 = off.
  Duration write_timeout = std::chrono::seconds{60};
};

/// `config.yaml` of an engine (one-machine.md 8), with the defaults for what it leaves unsaid.
struct EngineSettings {
  std::string http = "127.0.0.1:8080";
  std::int32_t max_replicas = 200;
  Duration stop_timeout = std::chrono::seconds{10};
  std::string log_level = "info";   ///< debug, info, warn, error
  std::string log_format = "auto";  ///< text, json, or auto: text on a terminal
  bool cold_start_header = true;
  /// Keys of `config-autoscaler` as text, judged by the autoscaler's own rules. Two defaults differ
  /// from a cluster's: a service starts at its first request.
  std::map<std::string, std::string> autoscaler = {{"allow-zero-initial-scale", "true"},
                                                   {"initial-scale", "0"}};
  SpecDefaults defaults;
  std::vector<MachineGroup> groups;  ///< none: the machine is one
  placement::Rules placement;        ///< alone may change while the engine runs
  QueueSettings queue;
  DashboardSettings dashboard;
  LimitSettings limits;
  /// Where each key that is not at its default came from, e.g. `queue.depth` -> `/etc/…yaml:7`.
  std::map<std::string, std::string> origins;
};

/// Fills in what the flags of a command leave unsaid: `config.yaml` says it, else a command has a
/// target of 10 and at most 8 replicas. `limit_given`: its hard limit is a flag's.
void complete_command(ServiceSpec& spec, bool limit_given, const EngineSettings& settings);

/// One key of `config.yaml` as a page about it has it, and as it stands in some settings.
struct SettingLine {
  std::string key;       ///< `queue.depth`
  std::string type;      ///< in words: `whole number from 0 to 10000000`
  std::string fallback;  ///< its value where the file has none
  std::string value;
  std::string origin;  ///< `/etc/sluice/config.yaml:7`; empty: the default
  std::string meaning;
};

/// Every key that the parser takes, in its own order.
[[nodiscard]] std::vector<SettingLine> setting_lines(const EngineSettings& settings);

/// Reads the text of one settings file, for a machine that has `cores`. An unknown key is a problem
/// with a suggestion.
[[nodiscard]] Result<EngineSettings, std::vector<Problem>> parse_engine_settings(
    std::string_view yaml, const std::string& file_name, std::span<const int> cores);

/// The rules of a settings file, or of a file that has what is below `placement` there.
[[nodiscard]] Result<placement::Rules, std::vector<Problem>> parse_placement(
    std::string_view yaml, const std::string& file_name, std::span<const int> cores);

/// The keys whose values differ, in the order of setting_lines().
[[nodiscard]] std::vector<std::string> changed_settings(const EngineSettings& before,
                                                        const EngineSettings& now);

/// The file that load_engine_settings reads; nothing: the defaults hold.
[[nodiscard]] std::optional<std::filesystem::path> chosen_settings_file(
    const std::optional<std::filesystem::path>& given,
    const std::vector<std::filesystem::path>& search);

/// The settings of `given` (--config; it must exist), else of the first file of `search` that
/// exists, else the defaults. For the cores that this process may use.
[[nodiscard]] Result<EngineSettings, std::vector<Problem>> load_engine_settings(
    const std::optional<std::filesystem::path>& given,
    const std::vector<std::filesystem::path>& search);

}  // namespace sluice::local
