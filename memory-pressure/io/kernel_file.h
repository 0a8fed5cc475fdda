#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sluice::node_agent {

/// A small text file of the kernel that is read again and again: it stays open between two reads.
class KernelFile {
 public:
  /// How the kernel hands it out.
  enum class Made : std::uint8_t {
    in_parts,  ///< a page at a time, perhaps
    at_once,   ///< whole, as it does files of control groups: what comes short has ended
  };

  /// An empty path is a file that is not there.
  explicit KernelFile(std::string path = {}, Made made = Made::in_parts)
      : path_{std::move(path)}, made_{made} {}

  ~KernelFile();
  KernelFile(KernelFile&& other) noexcept;
  KernelFile& operator=(KernelFile&& other) noexcept;
  KernelFile(const KernelFile&) = delete;
  KernelFile& operator=(const KernelFile&) = delete;

  /// The content, at most 4 MiB of it, valid until the next read of any file with this buffer.
  /// Absent: it is not there, or cannot be read; `error()` has the reason.
  [[nodiscard]] std::optional<std::string_view> read(std::string& buffer);

  /// errno of the last read that failed.
  [[nodiscard]] int error() const { return error_; }

  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  bool open();
  void close();

  std::string path_;
  Made made_ = Made::in_parts;
  int descriptor_ = -1;
  int error_ = 0;
};

/// Writes `text` to a file of the kernel's with one call, as it wants it. 0 or errno.
[[nodiscard]] int write_kernel_file(const std::string& path, std::string_view text);

/// The first number of a text; `max` and numbers that do not fit read as the largest there is.
[[nodiscard]] std::optional<std::int64_t> first_number(std::string_view text);

/// The number behind `key ` (or `key:`) at the start of a line.
[[nodiscard]] std::optional<std::int64_t> number_after(std::string_view text, std::string_view key);

}  // namespace sluice::node_agent
