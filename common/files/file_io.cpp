#include "common/files/file_io.h"

#include "common/base/errno_text.h"
#include "common/files/write_all.h"

#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <random>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

namespace sluice::files {
namespace {

constexpr std::chrono::minutes kLeftoverAge{1};

class Descriptor {
 public:
  explicit Descriptor(int number) : number_{number} {}

  ~Descriptor() { close(); }

  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  [[nodiscard]] bool is_open() const { return number_ >= 0; }

  [[nodiscard]] int number() const { return number_; }

  /// False when the kernel only now says that a write has failed.
  bool close() {
    if (number_ < 0) return true;
    const bool closed = ::close(number_) == 0;
    number_ = -1;
    return closed;
  }

 private:
  int number_;
};

Problem unreadable(const std::filesystem::path& path, const std::string& why) {
  return {path.string() + " cannot be read: " + why, "make it a readable regular file"};
}

std::string remedy(int error) {
  if (error == EISDIR) return "give the name of a file";
  if (error == ENOENT || error == ENOTDIR) return "make its directory first";
  return "make the directory writable and free disk space";
}

Problem unwritable(const std::filesystem::path& path, int error) {
  return {path.string() + " cannot be written: " + errno_text(error), remedy(error)};
}

std::filesystem::path temporary_beside(const std::filesystem::path& path) {
  std::random_device random;
  char name[40];
  std::snprintf(name, sizeof name, "%s%d-%08x", kTemporaryPrefix.data(), ::getpid(), random());
  return path.parent_path() / name;
}

}  // namespace

Result<std::optional<std::string>, Problem> read_file(const std::filesystem::path& path) {
  // Without O_NONBLOCK the opening of a pipe would wait for its writer.
  const Descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  if (!file.is_open()) {
    if (errno == ENOENT || errno == ENOTDIR) return std::optional<std::string>{};
    return unreadable(path, errno_text(errno));
  }

  struct stat status {};

  if (::fstat(file.number(), &status) != 0) return unreadable(path, errno_text(errno));
  if (!S_ISREG(status.st_mode)) return unreadable(path, "it is not a regular file");
  std::string content;
  content.reserve(static_cast<std::size_t>(status.st_size) < kFileBytesMax
                      ? static_cast<std::size_t>(status.st_size) + 1
                      : kFileBytesMax);
  char block[16 * 1024];
  while (true) {
    const ssize_t got = ::read(file.number(), block, sizeof block);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return unreadable(path, errno_text(errno));
    if (got == 0) return std::optional{std::move(content)};
    content.append(block, static_cast<std::size_t>(got));
    if (content.size() > kFileBytesMax) {
      return Problem{path.string() + " is larger than 4 MiB", "make it smaller"};
    }
  }
}

std::optional<Problem> replace_file(const std::filesystem::path& path, std::string_view content,
                                    std::optional<mode_t> mode) {
  const std::filesystem::path temporary = temporary_beside(path);
  Descriptor file{
      ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode ? 0600 : 0666)};
  if (!file.is_open()) return unwritable(path, errno);
  int failed = 0;
  if (mode && ::fchmod(file.number(), *mode) != 0) failed = errno;
  if (failed == 0 && !write_all(file.number(), content)) failed = errno;
  if (!file.close() && failed == 0) failed = errno;
  if (failed == 0 && ::rename(temporary.c_str(), path.c_str()) != 0) failed = errno;
  if (failed == 0) return std::nullopt;
  ::unlink(temporary.c_str());
  return unwritable(path, failed);
}

std::optional<Problem> write_output(const std::filesystem::path& path, std::string_view content) {
  struct stat status {};

  if (::stat(path.c_str(), &status) != 0) return replace_file(path, content);
  if (S_ISREG(status.st_mode)) {
    std::error_code failed;
    const std::filesystem::path target = std::filesystem::canonical(path, failed);
    return replace_file(failed ? path : target, content);
  }
  Descriptor file{::open(path.c_str(), O_WRONLY | O_CLOEXEC)};
  const bool written = file.is_open() && write_all(file.number(), content) && file.close();
  if (!written) return unwritable(path, errno);
  return std::nullopt;
}

std::optional<Problem> keep_file(const std::filesystem::path& path, std::string_view content,
                                 mode_t mode) {
  const auto before = read_file(path);
  if (before && *before && **before == content) return std::nullopt;
  return replace_file(path, content, mode);
}

void remove_leftovers(const std::filesystem::path& directory, TimePoint now) {
  const auto oldest_kept =
      std::chrono::duration_cast<std::chrono::seconds>((now - kLeftoverAge).time_since_epoch())
          .count();
  std::error_code ignored;
  for (std::filesystem::directory_iterator at{directory, ignored}, end; at != end;
       at.increment(ignored)) {
    if (!at->path().filename().string().starts_with(kTemporaryPrefix)) continue;

    struct stat status {};

    if (::stat(at->path().c_str(), &status) != 0) continue;
    if (status.st_mtim.tv_sec > oldest_kept) continue;
    ::unlink(at->path().c_str());
  }
}

}  // namespace sluice::files
