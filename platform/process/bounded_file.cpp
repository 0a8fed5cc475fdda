#include "platform/process/bounded_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace sluice::local {

std::filesystem::path older_file(const std::filesystem::path& file, int age) {
  return age == 0 ? file : std::filesystem::path(fmt::format("{}.{}", file.string(), age));
}

BoundedFile::BoundedFile(std::filesystem::path file, FileLimits limits)
    : file_(std::move(file)), limits_(limits) {}

int BoundedFile::append(std::string_view line) {
  if (const int error = tend(static_cast<std::int64_t>(line.size())); error != 0) return error;
  // A disk that fills up takes a part of it; the error is that of the rest.
  std::size_t done = 0;
  while (done < line.size()) {
    const auto written = ::write(fd_.get(), line.data() + done, line.size() - done);
    if (written <= 0) break;
    done += static_cast<std::size_t>(written);
  }
  if (done == line.size()) return 0;
  const int error = errno;
  // Half a line would spoil the next one.
  [[maybe_unused]] const int cut = done > 0 ? ::ftruncate(fd_.get(), size_) : 0;
  fd_.reset();
  return error;
}

int BoundedFile::tend(std::int64_t coming) {
  struct stat info {};

  // Deleted to make room, for example: what is written there is lost, and its room is not free.
  if (fd_ && (::fstat(fd_.get(), &info) != 0 || info.st_nlink == 0)) fd_.reset();
  if (!fd_) {
    if (const int error = open(); error != 0) return error;
    if (::fstat(fd_.get(), &info) != 0) return errno;
  }
  size_ = info.st_size;
  if (size_ == 0 || size_ + coming <= limits_.file_bytes_max) return 0;
  rotate();
  size_ = 0;
  return open();
}

int BoundedFile::open() {
  std::error_code ignored;  // open() tells
  std::filesystem::create_directories(file_.parent_path(), ignored);
  const int fd =
      ::open(file_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK, 0600);
  const int error = errno;
  fd_.reset(fd);
  if (fd < 0) return error;
  ++openings_;
  return 0;
}

void BoundedFile::rotate() {
  std::error_code ignored;  // a failed rename only makes one file longer
  const int oldest = std::clamp(limits_.files_max - 1, 0, kOlderFilesMax);
  for (int age = oldest; age > 0; --age) {
    std::filesystem::rename(older_file(file_, age - 1), older_file(file_, age), ignored);
  }
  if (oldest == 0) std::filesystem::remove(file_, ignored);
}

}  // namespace sluice::local
