#include "memory-pressure/io/journal_file.h"

#include "common/base/errno_text.h"
#include "common/files/write_all.h"

#include "memory-pressure/io/kernel_file.h"
#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace sluice::node_agent {
namespace {

std::string journal_in(const std::string& directory) {
  return directory + "/journal";
}

Problem unusable(const std::string& path, const std::string& why) {
  return {"the journal " + path + " cannot be used: " + why,
          "make it writable and free space on its disk"};
}

std::string lines(std::span<const JournalRecord> records) {
  std::string text;
  for (const JournalRecord& record : records) text += encode(record);
  return text;
}

// So that the renamed file is found after a loss of power too.
void sync_directory(const std::string& directory) {
  const int descriptor = ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return;
  ::fsync(descriptor);
  ::close(descriptor);
}

}  // namespace

JournalFile::JournalFile(std::string directory, int descriptor, std::size_t size)
    : directory_{std::move(directory)}, descriptor_{descriptor}, size_{size} {}

JournalFile::JournalFile(JournalFile&& other) noexcept
    : directory_{std::move(other.directory_)},
      descriptor_{std::exchange(other.descriptor_, -1)},
      size_{other.size_},
      shared_{other.shared_},
      torn_{other.torn_} {}

JournalFile::~JournalFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

Result<JournalFile, Problem> JournalFile::open(const std::string& directory) {
  const std::string path = journal_in(directory);
  const int descriptor =
      ::open(path.c_str(), O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, S_IRUSR | S_IWUSR);
  if (descriptor < 0) return unusable(path, errno_text(errno));

  struct stat status {};

  if (::fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode)) {
    ::close(descriptor);
    return unusable(path, "it is not a regular file");
  }
  return JournalFile{directory, descriptor, static_cast<std::size_t>(status.st_size)};
}

Result<std::string, Problem> JournalFile::content() const {
  const std::string path = journal_in(directory_);

  // Another process may have added to it.
  struct stat status {};

  if (::fstat(descriptor_, &status) != 0) return unusable(path, errno_text(errno));
  const auto size = static_cast<std::size_t>(status.st_size);
  if (size > kReadBytesMax) {
    return unusable(path, "it is larger than 16 MiB");
  }
  std::string text;
  text.resize(size);
  std::size_t got = 0;
  while (got < text.size()) {
    const ssize_t count =
        ::pread(descriptor_, text.data() + got, text.size() - got, static_cast<off_t>(got));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return unusable(path, errno_text(errno));
    if (count == 0) break;
    got += static_cast<std::size_t>(count);
  }
  text.resize(got);
  return {boost::system::in_place_value, std::move(text)};
}

std::optional<Problem> JournalFile::append(std::span<const JournalRecord> records) {
  std::string text = lines(records);
  if (torn_) text.insert(0, 1, '\n');
  torn_ = true;
  // Not synced, which can take longer than a newborn takes to its first memory: what is listed ends
  // with the kernel, whose cache outlives this process.
  if (!files::write_all(descriptor_, text)) {
    return unusable(journal_in(directory_), errno_text(errno));
  }
  torn_ = false;
  size_ += text.size();
  return std::nullopt;
}

std::optional<Problem> JournalFile::compact(std::span<const JournalRecord> records) {
  if (shared_) return std::nullopt;
  const std::string path = journal_in(directory_);
  const std::string beside = path + ".new";
  const int descriptor =
      ::open(beside.c_str(), O_RDWR | O_APPEND | O_CREAT | O_TRUNC | O_CLOEXEC, S_IRUSR | S_IWUSR);
  if (descriptor < 0) return unusable(beside, errno_text(errno));
  const std::string text = lines(records);
  if (!files::write_all(descriptor, text) || ::fdatasync(descriptor) != 0 ||
      ::rename(beside.c_str(), path.c_str()) != 0) {
    const std::string why = errno_text(errno);
    ::close(descriptor);
    ::unlink(beside.c_str());
    return unusable(path, why);
  }
  sync_directory(directory_);
  ::close(std::exchange(descriptor_, descriptor));
  size_ = text.size();
  torn_ = false;
  return std::nullopt;
}

std::string boot_id(const std::string& root) {
  std::string buffer;
  KernelFile file{root + "/proc/sys/kernel/random/boot_id"};
  std::string id{file.read(buffer).value_or("")};
  while (!id.empty() && id.back() == '\n') id.pop_back();
  return id;
}

}  // namespace sluice::node_agent
