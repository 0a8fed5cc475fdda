#pragma once

#include "platform/process/unique_fd.h"
#include <cstdint>
#include <filesystem>
#include <string_view>

namespace sluice::local {

/// How much a log keeps.
struct FileLimits {
  std::int64_t file_bytes_max = std::int64_t{10} << 20;
  int files_max = 3;  ///< the current one and older ones, `.1` the youngest
};

/// The file that was current `age` rotations ago.
[[nodiscard]] std::filesystem::path older_file(const std::filesystem::path& file, int age);

inline constexpr int kOlderFilesMax = 9;

/// A log file that begins again when it is full, keeping some older ones. Nothing waits for it, and
/// nothing of it is found out but by writing: a file that was deleted or a disk that had been full
/// is opened again.
class BoundedFile {
 public:
  /// The directory is made when missing. Nothing is opened yet.
  explicit BoundedFile(std::filesystem::path file, FileLimits limits = {});

  /// Writes `line` whole or not at all. 0, or the errno of what failed.
  [[nodiscard]] int append(std::string_view line);

  /// Opens what is to be opened and rotates what is full, for `coming` bytes more: of a file that
  /// is written through fd(), too. 0 or the errno.
  [[nodiscard]] int tend(std::int64_t coming = 0);

  [[nodiscard]] const std::filesystem::path& file() const { return file_; }

  /// -1 while it is not open.
  [[nodiscard]] int fd() const { return fd_.get(); }

  /// Grows each time fd() becomes another open file.
  [[nodiscard]] std::uint64_t openings() const { return openings_; }

 private:
  [[nodiscard]] int open();
  void rotate();

  std::filesystem::path file_;
  FileLimits limits_;
  UniqueFd fd_;
  std::int64_t size_ = 0;
  std::uint64_t openings_ = 0;
};

}  // namespace sluice::local
