#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

struct gzFile_s;

namespace sluice::loadgen {

/// The bytes of a file in pieces, unpacked if gzip packed it: memory does not depend on its size.
class UnpackedFile {
 public:
  /// How a file came to its end.
  enum class Ending : std::uint8_t {
    none,        ///< it has not
    whole,       ///< properly
    cut,         ///< in the middle of what gzip wrote
    damaged,     ///< what follows was not written by gzip
    unreadable,  ///< what follows cannot be read
  };

  /// `-` is standard input. Nothing: it cannot be opened, and errno says why.
  [[nodiscard]] static std::optional<UnpackedFile> open(const std::string& path);

  UnpackedFile(UnpackedFile&& other) noexcept;
  UnpackedFile(const UnpackedFile&) = delete;
  UnpackedFile& operator=(const UnpackedFile&) = delete;
  UnpackedFile& operator=(UnpackedFile&&) = delete;
  ~UnpackedFile();

  /// The next bytes, valid until the next call; none: look at ending().
  [[nodiscard]] std::string_view next();

  [[nodiscard]] Ending ending() const { return ending_; }

  /// Why what follows is unreadable, as `errno` has it.
  [[nodiscard]] int error() const { return error_; }

 private:
  explicit UnpackedFile(gzFile_s* file) : file_{file}, buffer_(kBufferBytes) {}

  static constexpr std::size_t kBufferBytes = 256U << 10U;

  gzFile_s* file_;
  std::vector<char> buffer_;
  Ending ending_ = Ending::none;
  int error_ = 0;
};

}  // namespace sluice::loadgen
