#pragma once

#include "common/base/result.h"
#include "common/time/time_point.h"

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <sys/types.h>

namespace sluice::files {

/// Most bytes of a file that is read (protocols.md 9).
inline constexpr std::size_t kFileBytesMax = 4U << 20U;

/// The whole content of a regular file; absent when there is no such file. A problem names the
/// path: larger than kFileBytesMax, not a regular file, not readable.
[[nodiscard]] Result<std::optional<std::string>, Problem> read_file(
    const std::filesystem::path& path);

/// Replaces the contents of `path` by `content` at once: a reader sees the old file or the new one,
/// whole. It is written beside it under a name of its own (see kTemporaryPrefix) and renamed. With
/// `mode` the file has those permissions, whatever the umask.
[[nodiscard]] std::optional<Problem> replace_file(const std::filesystem::path& path,
                                                  std::string_view content,
                                                  std::optional<mode_t> mode = std::nullopt);

/// What a person named, written piece by piece: a file is replaced at once by finish() and keeps
/// its permissions, with a symbolic link the one it leads to; a pipe or a device stays what it is
/// and gets the pieces. A file that may not be written is not replaced; without finish() it stays
/// as it was.
class OutputFile {
 public:
  [[nodiscard]] static Result<OutputFile, Problem> open(const std::filesystem::path& path);

  /// For replace_file().
  [[nodiscard]] static Result<OutputFile, Problem> replacement(const std::filesystem::path& target,
                                                               std::optional<mode_t> mode);

  OutputFile(OutputFile&& other) noexcept;
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  OutputFile& operator=(OutputFile&&) = delete;
  ~OutputFile();

  /// After a problem nothing more may be written.
  [[nodiscard]] std::optional<Problem> write(std::string_view bytes);

  [[nodiscard]] std::optional<Problem> finish();

 private:
  OutputFile(std::filesystem::path target, std::filesystem::path temporary, int descriptor);

  std::filesystem::path target_;
  std::filesystem::path temporary_;  // takes the place of the target; empty: it is written itself
  int descriptor_;
};

/// The whole of an OutputFile.
[[nodiscard]] std::optional<Problem> write_output(const std::filesystem::path& path,
                                                  std::string_view content);

/// As replace_file(), but what has that content already is left alone.
[[nodiscard]] std::optional<Problem> keep_file(const std::filesystem::path& path,
                                               std::string_view content, mode_t mode);

/// Begins the name of files that are being written. Readers of a directory pass over them.
inline constexpr std::string_view kTemporaryPrefix = ".tmp-";

/// Removes what writers left in `directory` that were killed while they wrote; what is younger than
/// a minute may still be in use. Best effort.
void remove_leftovers(const std::filesystem::path& directory, TimePoint now);

}  // namespace sluice::files
