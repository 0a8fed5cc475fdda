#pragma once

#include "platform/process/engine_settings.h"
#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>

namespace sluice {

class YamlReader;
struct YamlEntry;

}  // namespace sluice

namespace sluice::local {

/// Where a value is in the settings; its type is that of the key.
using SettingPlace =
    std::variant<std::string& (*)(EngineSettings&), bool& (*)(EngineSettings&),
                 std::int64_t& (*)(EngineSettings&), std::int32_t& (*)(EngineSettings&),
                 std::chrono::seconds& (*)(EngineSettings&), Duration& (*)(EngineSettings&),
                 std::vector<std::string>& (*)(EngineSettings&),
                 std::vector<MachineGroup>& (*)(EngineSettings&),
                 std::vector<placement::MigrationPolicy>& (*)(EngineSettings&)>;

/// How its text is read where the type leaves a choice.
enum class SettingForm {
  plain,  ///< as the type is written: a whole number, a duration, true or false, a word of `words`
  address,  ///< HOST:PORT
  size,     ///< bytes, such as 64Ki
  hosts,    ///< a list of bare names
};

/// One key of `config.yaml`: the parser reads by this table, and `sluice config` prints it.
struct Setting {
  std::string_view section;  ///< `queue`, or empty
  std::string_view key;
  std::string_view meaning;
  SettingPlace place;
  SettingForm form = SettingForm::plain;
  std::int64_t least = 0;
  std::int64_t most = 0;
  std::array<const char*, 4> words = {};  ///< null: no further one

  [[nodiscard]] std::string name() const;
  [[nodiscard]] std::string type() const;
  [[nodiscard]] std::string shown(const EngineSettings& settings) const;
  /// Takes the value of `entry`, or leaves a problem in `reader` and the default in place. The
  /// machine has `cores`.
  void read(YamlReader& reader, const YamlEntry& entry, std::span<const int> cores,
            EngineSettings& settings) const;
};

/// All keys but those of `autoscaler`, which are in common/scaling/cluster_config.h; those of a
/// section are neighbours.
[[nodiscard]] std::span<const Setting> setting_table();

}  // namespace sluice::local
