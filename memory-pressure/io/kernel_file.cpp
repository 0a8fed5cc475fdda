#include "memory-pressure/io/kernel_file.h"

#include <cerrno>
#include <charconv>
#include <fcntl.h>
#include <limits>
#include <unistd.h>
#include <utility>

namespace sluice::node_agent {
namespace {

constexpr std::size_t kBytesFirst = 4 * 1024;  // nearly all files fit
constexpr std::size_t kBytesMax = std::size_t{4} << 20U;

std::string_view without_blanks(std::string_view text) {
  const std::size_t at = text.find_first_not_of(" \t:");
  return at == std::string_view::npos ? std::string_view{} : text.substr(at);
}

}  // namespace

KernelFile::~KernelFile() {
  close();
}

KernelFile::KernelFile(KernelFile&& other) noexcept
    : path_{std::move(other.path_)},
      made_{other.made_},
      descriptor_{std::exchange(other.descriptor_, -1)},
      error_{other.error_} {}

KernelFile& KernelFile::operator=(KernelFile&& other) noexcept {
  if (this == &other) return *this;
  close();
  path_ = std::move(other.path_);
  made_ = other.made_;
  descriptor_ = std::exchange(other.descriptor_, -1);
  error_ = other.error_;
  return *this;
}

bool KernelFile::open() {
  if (descriptor_ >= 0) return true;
  if (path_.empty()) {
    error_ = ENOENT;
    return false;
  }
  descriptor_ = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor_ < 0) error_ = errno;
  return descriptor_ >= 0;
}

void KernelFile::close() {
  if (descriptor_ >= 0) ::close(descriptor_);
  descriptor_ = -1;
}

std::optional<std::string_view> KernelFile::read(std::string& buffer) {
  if (!open()) return std::nullopt;
  if (buffer.size() < kBytesFirst) buffer.resize(kBytesFirst);
  std::size_t size = 0;
  // Some kernel files hand out a page at a time.
  while (true) {
    if (size == buffer.size()) {
      if (size >= kBytesMax) break;
      buffer.resize(size * 2);
    }
    const ssize_t got =
        ::pread(descriptor_, buffer.data() + size, buffer.size() - size, static_cast<off_t>(size));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) {
      error_ = errno;
      close();  // a group that is gone answers ENODEV from then on; another may take its name
      return std::nullopt;
    }
    if (got == 0) break;
    size += static_cast<std::size_t>(got);
    if (made_ == Made::at_once && size < buffer.size()) break;
  }
  return std::string_view{buffer.data(), size};
}

int write_kernel_file(const std::string& path, std::string_view text) {
  const int descriptor = ::open(path.c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC);
  if (descriptor < 0) return errno;
  const ssize_t written = ::write(descriptor, text.data(), text.size());
  const int failed = written < 0 ? errno : 0;
  ::close(descriptor);
  return failed;
}

std::optional<std::int64_t> first_number(std::string_view text) {
  text = without_blanks(text);
  constexpr std::int64_t kLargest = std::numeric_limits<std::int64_t>::max();
  if (text.starts_with("max")) return kLargest;
  std::int64_t number = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc::result_out_of_range) return kLargest;
  if (error != std::errc{} || stop == text.data()) return std::nullopt;
  return number;
}

std::optional<std::int64_t> number_after(std::string_view text, std::string_view key) {
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    if (line.starts_with(key) && line.size() > key.size() &&
        (line[key.size()] == ' ' || line[key.size()] == ':')) {
      return first_number(line.substr(key.size()));
    }
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  return std::nullopt;
}

}  // namespace sluice::node_agent
