#pragma once

#include "common/base/result.h"

#include "platform/process/service_spec.h"
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace sluice::local {

/// Where the services of an engine come from: the command form, files, watched directories, and
/// what `apply` added. Reading is all or nothing, so that a broken file changes nothing.
class SpecSources {
 public:
  SpecSources(std::vector<std::string> files, std::vector<ServiceSpec> fixed,
              SpecDefaults defaults);

  struct Reading {
    std::vector<ServiceSpec> services;
    std::vector<std::string> warnings;
  };

  /// Everything there is now. Two services of one name are a problem that names both files.
  [[nodiscard]] Result<Reading, std::vector<Problem>> read();

  /// Whether a file has changed, come or gone since the last read. Looks at sizes and times only.
  [[nodiscard]] bool changed() const;

 private:
  struct Seen {
    std::uintmax_t size = 0;
    std::filesystem::file_time_type written;

    friend bool operator==(const Seen&, const Seen&) = default;
  };

  [[nodiscard]] std::map<std::filesystem::path, Seen> look() const;

  std::vector<std::string> files_;
  std::vector<ServiceSpec> fixed_;
  SpecDefaults defaults_;
  std::optional<std::string> standard_input_;  // read once
  std::map<std::filesystem::path, Seen> seen_;
};

}  // namespace sluice::local
