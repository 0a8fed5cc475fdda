#pragma once

#include "common/base/result.h"

#include "platform/process/engine_settings.h"
#include "programs/sluice/engine/file_stamp.h"
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace sluice::local {

/// The settings file of an engine that runs. `placement` is taken over when it changes, groups may
/// go, and every other key waits for the next start; a wrong file changes nothing.
class SettingsFile {
 public:
  /// What has changed since the last look.
  struct News {
    std::vector<std::string> taken;             ///< keys that are in force now
    std::vector<std::string> warnings;          ///< once for each key that is not
    std::optional<std::set<std::string>> gone;  ///< groups in force that a right file has no more
    std::vector<Problem> problems;              ///< of a file that is wrong
  };

  /// `file` is absolute, or empty: there is none.
  explicit SettingsFile(std::string file) : file_{std::move(file)} {}

  /// Reads the file if it has changed since the last look, or `always`, and takes its changes over
  /// into `in_force`.
  [[nodiscard]] News look(EngineSettings& in_force, bool always);

 private:
  std::string file_;
  std::optional<FileStamp> seen_;  // absent: never, since it may have changed after the start
  std::set<std::string> named_;    // keys that were named and wait for the next start
};

}  // namespace sluice::local
