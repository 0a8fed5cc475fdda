#include "load/io/unpacked_file.h"

#include <cerrno>
#include <unistd.h>
#include <utility>
#include <zlib.h>

namespace sluice::loadgen {

std::optional<UnpackedFile> UnpackedFile::open(const std::string& path) {
  gzFile_s* const file =
      path == "-" ? gzdopen(::dup(STDIN_FILENO), "rb") : gzopen(path.c_str(), "rb");
  if (file == nullptr) return std::nullopt;
  return UnpackedFile{file};
}

UnpackedFile::UnpackedFile(UnpackedFile&& other) noexcept
    : file_{std::exchange(other.file_, nullptr)},
      buffer_{std::move(other.buffer_)},
      ending_{other.ending_},
      error_{other.error_} {}

UnpackedFile::~UnpackedFile() {
  if (file_ != nullptr) gzclose(file_);
}

// gzread() gives what there was before a cut; that it was one shows in the error alone.
std::string_view UnpackedFile::next() {
  if (ending_ != Ending::none) return {};
  const int bytes = gzread(file_, buffer_.data(), static_cast<unsigned>(buffer_.size()));
  int error = Z_OK;
  gzerror(file_, &error);
  if (error == Z_BUF_ERROR) {
    ending_ = Ending::cut;
  } else if (bytes < 0 || error < 0) {
    error_ = errno;
    ending_ = error == Z_ERRNO ? Ending::unreadable : Ending::damaged;
  } else if (bytes == 0) {
    ending_ = Ending::whole;
  }
  return {buffer_.data(), bytes > 0 ? static_cast<std::size_t>(bytes) : 0};
}

}  // namespace sluice::loadgen
