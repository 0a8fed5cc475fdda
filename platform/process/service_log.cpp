#include "platform/process/service_log.h"

#include "common/base/clean_text.h"
#include "common/values/rfc3339.h"

#include <fmt/format.h>

#include "platform/process/proc_files.h"
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace sluice::local {
namespace {

constexpr std::size_t kTailLinesMax = 10'000;
constexpr int kOlderFilesMax = 9;

std::optional<LogLine> parse_line(std::string_view line) {
  const auto first = line.find(' ');
  const auto second = first == std::string_view::npos ? first : line.find(' ', first + 1);
  if (second == std::string_view::npos) return std::nullopt;
  const auto time = parse_rfc3339(line.substr(0, first));
  if (!time) return std::nullopt;
  return LogLine{*time, std::string(line.substr(first + 1, second - first - 1)),
                 std::string(line.substr(second + 1))};
}

std::filesystem::path older(const std::filesystem::path& file, int age) {
  return age == 0 ? file : std::filesystem::path(fmt::format("{}.{}", file.string(), age));
}

/// The last `bytes_max` bytes of a file, without a line that begins before them.
std::string read_end(const std::filesystem::path& file, std::size_t bytes_max) {
  const UniqueFd fd(::open(file.c_str(), O_RDONLY | O_CLOEXEC));

  struct stat info {};

  if (!fd || ::fstat(fd.get(), &info) != 0) return {};
  const auto size = static_cast<std::size_t>(info.st_size);
  const std::size_t wanted = std::min(size, bytes_max);
  std::string text(wanted, '\0');
  const auto count = ::pread(fd.get(), text.data(), text.size(), static_cast<off_t>(size - wanted));
  text.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
  if (wanted < size) text.erase(0, std::min(text.find('\n'), text.size() - 1) + 1);
  return text;
}

}  // namespace

ServiceLog::ServiceLog(const std::filesystem::path& directory, const std::string& service,
                       std::function<void(const std::string&)> warn, Limits limits)
    : file_(directory / (service + ".log")), warn_(std::move(warn)), limits_(limits) {
  std::error_code ignored;  // open() tells
  std::filesystem::create_directories(directory, ignored);
  open();
}

void ServiceLog::append(TimePoint now, const std::string& replica, std::string_view text) {
  do {
    const std::string_view part = text.substr(0, kLogLineBytesMax);
    text.remove_prefix(part.size());
    write_line(now, replica, part);
  } while (!text.empty());
}

void ServiceLog::write_line(TimePoint now, const std::string& replica, std::string_view text) {
  // A line stays one line, and a terminal that shows the file is not steered by it.
  const std::string line =
      fmt::format("{} {} {}\n", rfc3339(now, Fraction::milliseconds), replica, clean_text(text));

  if (size_ > 0 && size_ + static_cast<std::int64_t>(line.size()) > limits_.file_bytes_max)
    rotate();
  if (!fd_) open();
  if (!fd_) return;
  const auto written = ::write(fd_.get(), line.data(), line.size());
  if (written == static_cast<ssize_t>(line.size())) {
    size_ += written;
    failing_ = false;
    return;
  }
  const int error = written < 0 ? errno : ENOSPC;
  // Half a line would spoil the next one.
  if (written > 0 && ::ftruncate(fd_.get(), size_) != 0) fd_.reset();
  fail(error);
}

void ServiceLog::open() {
  fd_.reset(::open(file_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK, 0600));

  struct stat info {};

  if (!fd_) return fail(errno);
  size_ = ::fstat(fd_.get(), &info) == 0 ? info.st_size : 0;
}

void ServiceLog::rotate() {
  std::error_code ignored;  // a failed rename only makes one file longer
  const int oldest = std::clamp(limits_.files_max - 1, 0, kOlderFilesMax);
  for (int age = oldest; age > 0; --age)
    std::filesystem::rename(older(file_, age - 1), older(file_, age), ignored);
  if (oldest == 0) std::filesystem::remove(file_, ignored);
  open();
}

void ServiceLog::fail(int error) {
  if (std::exchange(failing_, true) || !warn_) return;
  warn_(fmt::format("cannot write {}: {}; output is not kept until it works again", file_.string(),
                    std::strerror(error)));
}

std::vector<LogLine> tail_log(const std::filesystem::path& file, const TailQuery& query) {
  const std::size_t wanted = std::min(query.lines, kTailLinesMax);
  std::size_t bytes_left = query.bytes_max;
  std::vector<LogLine> newest_first;
  for (int age = 0; age <= kOlderFilesMax && bytes_left > 0; ++age) {
    std::string text = read_end(older(file, age), bytes_left);
    if (text.empty() && age > 0) break;
    bytes_left -= std::min(bytes_left, text.size());
    std::string_view rest = text;
    while (!rest.empty() && newest_first.size() < wanted) {
      if (rest.back() == '\n') rest.remove_suffix(1);
      const auto before = rest.rfind('\n');
      const auto begin = before == std::string_view::npos ? 0 : before + 1;
      auto line = parse_line(rest.substr(begin));
      if (line && (query.replica.empty() || line->replica == query.replica))
        newest_first.push_back(std::move(*line));
      rest = rest.substr(0, begin);
    }
    if (newest_first.size() >= wanted) break;
  }
  std::reverse(newest_first.begin(), newest_first.end());
  return newest_first;
}

}  // namespace sluice::local
