#pragma once

#include "common/base/result.h"

#include "platform/process/service_spec.h"
#include "programs/sluice/engine/file_stamp.h"
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace sluice::local {

/// The files and directories that an engine watches, and which service is in which of them. A
/// broken file changes nothing: its services stay those of its last good reading.
class SpecSources {
 public:
  SpecSources(std::vector<std::string> files, SpecDefaults defaults);

  struct Reading {
    std::vector<ServiceSpec> services;
    std::map<std::string, std::filesystem::path> files;  ///< by service; absolute, or `-`
    std::vector<std::string> warnings;
    std::vector<Problem> problems;  ///< of what read_valid() has left out
  };

  /// Everything there is now, or nothing if any of it is wrong. Two services of one name are a
  /// problem that names both files.
  [[nodiscard]] Result<Reading, RefusedFile> read();

  /// The same without what is wrong.
  [[nodiscard]] Reading read_valid();

  /// One of them is a directory, of which one file may be broken and the others not.
  [[nodiscard]] bool has_directory() const;

  /// Whether a file has changed, come or gone since the last read. Looks at sizes and times only.
  [[nodiscard]] bool changed() const;

  /// The file in which its last good reading found the service; null: in none.
  [[nodiscard]] const std::filesystem::path* file_of(const std::string& service) const;

  /// The same of all services.
  [[nodiscard]] const std::map<std::string, std::filesystem::path>& owners() const {
    return owners_;
  }

  /// The service runs from elsewhere, whatever is in the file.
  void disown(const std::string& service) { owners_.erase(service); }

  [[nodiscard]] const std::vector<std::string>& files() const { return files_; }

  void watch(const std::string& file);
  void unwatch(const std::string& file);

 private:
  [[nodiscard]] std::map<std::filesystem::path, FileStamp> look() const;
  void keep_owners(Reading& reading, const std::set<std::filesystem::path>& broken,
                   const std::set<std::string>& disputed);

  std::vector<std::string> files_;
  SpecDefaults defaults_;
  std::optional<std::string> standard_input_;  // read once
  std::map<std::filesystem::path, FileStamp> seen_;
  std::map<std::string, std::filesystem::path> owners_;  // of the last good reading of each file
};

}  // namespace sluice::local
