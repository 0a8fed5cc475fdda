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
#include <utility>

namespace sluice::files {
namespace {

constexpr std::chrono::minutes kLeftoverAge{1};
constexpr int kLinksMax = 40;  // as many as the kernel follows

class Descriptor {
 public:
  explicit Descriptor(int number) : number_{number} {}

  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }

  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  [[nodiscard]] bool is_open() const { return number_ >= 0; }

  [[nodiscard]] int number() const { return number_; }

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

// Where a link leads to that leads to nothing yet.
std::filesystem::path end_of_links(std::filesystem::path path) {
  std::error_code failed;
  for (int links = 0; links < kLinksMax; ++links) {
    const std::filesystem::path next = std::filesystem::read_symlink(path, failed);
    if (failed) break;
    path = path.parent_path() / next;
  }
  return path;
}

std::optional<Problem> write_whole(Result<OutputFile, Problem> file, std::string_view content) {
  if (!file) return file.error();
  if (auto problem = file->write(content)) return problem;
  return file->finish();
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

Result<OutputFile, Problem> OutputFile::open(const std::filesystem::path& path) {
  struct stat status {};

  if (::stat(path.c_str(), &status) != 0) return replacement(end_of_links(path), std::nullopt);
  if (!S_ISREG(status.st_mode)) {
    const int descriptor = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
    if (descriptor < 0) return unwritable(path, errno);
    return OutputFile{path, {}, descriptor};
  }
  if (::faccessat(AT_FDCWD, path.c_str(), W_OK, AT_EACCESS) != 0) {
    return Problem{path.string() + " cannot be written: " + errno_text(errno),
                   "make it writable, or give another file"};
  }
  std::error_code failed;
  const std::filesystem::path target = std::filesystem::canonical(path, failed);
  return replacement(failed ? path : target, status.st_mode & 07777U);
}

Result<OutputFile, Problem> OutputFile::replacement(const std::filesystem::path& target,
                                                    std::optional<mode_t> mode) {
  std::filesystem::path temporary = temporary_beside(target);
  const int descriptor =
      ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode ? 0600 : 0666);
  if (descriptor < 0) return unwritable(target, errno);
  OutputFile file{target, std::move(temporary), descriptor};
  if (mode && ::fchmod(descriptor, *mode) != 0) return unwritable(target, errno);
  return file;
}

OutputFile::OutputFile(std::filesystem::path target, std::filesystem::path temporary,
                       int descriptor)
    : target_{std::move(target)}, temporary_{std::move(temporary)}, descriptor_{descriptor} {}

OutputFile::OutputFile(OutputFile&& other) noexcept
    : target_{std::move(other.target_)},
      temporary_{std::exchange(other.temporary_, {})},
      descriptor_{std::exchange(other.descriptor_, -1)} {}

OutputFile::~OutputFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

std::optional<Problem> OutputFile::write(std::string_view bytes) {
  if (!write_all(descriptor_, bytes)) return unwritable(target_, errno);
  return std::nullopt;
}

std::optional<Problem> OutputFile::finish() {
  // The kernel may say only now that a write has failed.
  if (::close(std::exchange(descriptor_, -1)) != 0) return unwritable(target_, errno);
  if (temporary_.empty()) return std::nullopt;
  if (::rename(temporary_.c_str(), target_.c_str()) != 0) return unwritable(target_, errno);
  temporary_.clear();
  return std::nullopt;
}

std::optional<Problem> replace_file(const std::filesystem::path& path, std::string_view content,
                                    std::optional<mode_t> mode) {
  return write_whole(OutputFile::replacement(path, mode), content);
}

std::optional<Problem> write_output(const std::filesystem::path& path, std::string_view content) {
  return write_whole(OutputFile::open(path), content);
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
