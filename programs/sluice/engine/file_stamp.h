#pragma once

#include <cstdint>
#include <filesystem>

namespace sluice::local {

/// Size and time of a file: another one means that it has changed.
struct FileStamp {
  std::uintmax_t size = 0;
  std::filesystem::file_time_type written;

  friend bool operator==(const FileStamp&, const FileStamp&) = default;

  /// Of a file that is not there too.
  [[nodiscard]] static FileStamp of(const std::filesystem::path& file) {
    std::error_code ignored;
    FileStamp stamp;
    stamp.size = std::filesystem::file_size(file, ignored);
    stamp.written = std::filesystem::last_write_time(file, ignored);
    return stamp;
  }
};

}  // namespace sluice::local
