#include "memory-pressure/io/state_lock.h"

#include "common/base/errno_text.h"

#include <array>
#include <cerrno>
#include <fcntl.h>
#include <filesystem>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace sluice::node_agent {
namespace {

StateLock::Refusal unusable(const std::string& directory, const std::string& why) {
  return {StateLock::Failure::failed,
          {"the state directory " + directory + " cannot be used: " + why,
           "give another with --state-dir, or make it writable"}};
}

// Who has it, as it wrote down itself.
std::string holder(int descriptor) {
  std::array<char, 16> digits{};
  const ssize_t got = ::pread(descriptor, digits.data(), digits.size() - 1, 0);
  std::string pid{digits.data(), got > 0 ? static_cast<std::size_t>(got) : 0};
  while (!pid.empty() && pid.back() == '\n') pid.pop_back();
  return pid;
}

}  // namespace

Result<StateLock, StateLock::Refusal> StateLock::take(const std::string& directory) {
  std::error_code failed;
  const bool made = std::filesystem::create_directories(directory, failed);
  if (failed) return unusable(directory, failed.message());
  if (made) ::chmod(directory.c_str(), S_IRWXU);
  const std::string path = directory + "/lock";
  StateLock lock{::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, S_IRUSR | S_IWUSR)};
  if (lock.descriptor_ < 0) return unusable(directory, errno_text(errno));
  if (::flock(lock.descriptor_, LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) return unusable(directory, errno_text(errno));
    const std::string pid = holder(lock.descriptor_);
    return Refusal{Failure::held,
                   {"another node-agent" + (pid.empty() ? "" : ", process " + pid + ",") +
                        " holds the lock of the state directory " + directory,
                    "stop it first, or give another directory with --state-dir"},
                   pid};
  }
  const std::string pid = std::to_string(::getpid()) + "\n";
  // For people only; the lock holds without it.
  if (::ftruncate(lock.descriptor_, 0) == 0) {
    [[maybe_unused]] const ssize_t written = ::pwrite(lock.descriptor_, pid.data(), pid.size(), 0);
  }
  return lock;
}

StateLock::~StateLock() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

StateLock::StateLock(StateLock&& other) noexcept
    : descriptor_{std::exchange(other.descriptor_, -1)} {}

}  // namespace sluice::node_agent
