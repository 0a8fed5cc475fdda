#pragma once

#include <filesystem>
#include <fstream>
#include <stdlib.h>
#include <string>

namespace sluice::files {

/// A directory of a test's own; gone with it.
class ScratchDirectory {
 public:
  ScratchDirectory() {
    std::string name = (std::filesystem::temp_directory_path() / "sluice-files-XXXXXX").string();
    path_ = ::mkdtemp(name.data());
  }

  ~ScratchDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  ScratchDirectory(const ScratchDirectory&) = delete;
  ScratchDirectory& operator=(const ScratchDirectory&) = delete;

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

  /// Writes in place, as a careless person would.
  void write(const std::string& name, const std::string& content) const {
    std::ofstream{path_ / name} << content;
  }

 private:
  std::filesystem::path path_;
};

}  // namespace sluice::files
