#include "platform/process/service_log.h"

#include "common/base/clean_text.h"
#include "common/values/duration.h"
#include "common/values/rfc3339.h"
#include "common/values/whole_number.h"

#include <fmt/format.h>

#include "platform/process/proc_files.h"
#include <algorithm>
#include <array>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace sluice::local {
namespace {

constexpr std::size_t kTailLinesMax = 10'000;

// Of the end of a log, in which the number of its last start is looked for.
constexpr std::size_t kStartBytesMax = std::size_t{64} << 10;

// `2026-11-20T14:03:12.061Z app-00001-1#3 text`; without `#3` in logs of earlier versions.
std::optional<LogLine> parse_line(std::string_view line) {
  const auto first = line.find(' ');
  const auto second = first == std::string_view::npos ? first : line.find(' ', first + 1);
  if (second == std::string_view::npos) return std::nullopt;
  const auto time = parse_rfc3339(line.substr(0, first));
  if (!time) return std::nullopt;
  LogLine read{.time = *time, .replica = {}, .text = std::string(line.substr(second + 1))};
  const std::string_view source = line.substr(first + 1, second - first - 1);
  const auto mark = std::min(source.find('#'), source.size());
  read.replica = source.substr(0, mark);
  if (mark < source.size()) {
    read.start = whole_number<std::int64_t>(source.substr(mark + 1)).value_or(0);
  }
  return read;
}

std::string written(TimePoint time, const LogSource& source, std::string_view text) {
  // A line stays one line, and a terminal that shows the file is not steered by it.
  return fmt::format("{} {}{} {}\n", rfc3339(time, Fraction::milliseconds), source.replica,
                     source.start > 0 ? fmt::format("#{}", source.start) : "", clean_text(text));
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

std::string lines_text(std::int64_t count) {
  return fmt::format("{} {}", count, count == 1 ? "line" : "lines");
}

// A line about the log itself concerns every replica.
bool chosen(const LogLine& line, const TailQuery& query) {
  const bool of_replica =
      query.replica.empty() || line.replica == query.replica || line.replica == kNoReplica;
  return of_replica && (!query.since || line.time >= *query.since);
}

}  // namespace

bool is_earlier(const LogLine& one, const LogLine& other) {
  return one.time < other.time;
}

ServiceLog::ServiceLog(const std::filesystem::path& directory, const std::string& service,
                       Warn warn, Limits limits, FailureNotice* full_disk)
    : file_(directory / (service + ".log"), limits),
      warn_(std::move(warn)),
      full_disk_(full_disk) {}

std::int64_t ServiceLog::begin_start() {
  if (!last_start_) {
    last_start_ = 0;
    const TailQuery end{.lines = kTailLinesMax, .bytes_max = kStartBytesMax};
    for (const LogLine& line : tail_log(file(), end)) {
      last_start_ = std::max(*last_start_, line.start);
    }
  }
  return ++*last_start_;
}

void ServiceLog::append(TimePoint now, const LogSource& source, std::string_view text) {
  do {
    const std::string_view part = text.substr(0, kLogLineBytesMax);
    text.remove_prefix(part.size());
    write_line(now, source, part);
  } while (!text.empty());
}

void ServiceLog::write_line(TimePoint now, const LogSource& source, std::string_view text) {
  if (gap_.count > 0) name_loss(now);
  const int error = file_.append(written(now, source, text));
  if (error != 0) return fail(now, error);
  own_notice_.worked(now);
  if (full_disk_ != nullptr) full_disk_->worked(now);
}

FailureNotice& ServiceLog::notice_of(int error) {
  return means_full(error) && full_disk_ != nullptr ? *full_disk_ : own_notice_;
}

void ServiceLog::fail(TimePoint now, int error) {
  gap_.lose(now, error_text(error));
  const bool due = notice_of(error).failed(now);
  if (!due || !warn_) return;
  warn_(fmt::format("cannot write {}: {}; {} not kept until it works again", file().string(),
                    gap_.reason,
                    means_full(error) ? "what services print is" : "what this service prints is"));
}

// One line for what was lost, once no more has been for a while: lines that came between are kept.
void ServiceLog::name_loss(TimePoint now) {
  if (now - gap_.to < FailureNotice::kSettled) return;
  const auto lasted = std::chrono::ceil<std::chrono::seconds>(gap_.to - gap_.from);
  const std::string text =
      fmt::format("{} in the next {} not kept: {}", lines_text(gap_.count),
                  show_duration(std::max<Duration>(lasted, std::chrono::seconds{1})), gap_.reason);
  if (file_.append(written(gap_.from, {kNoReplica}, text)) == 0) gap_ = {};
}

std::optional<LogLine> ServiceLog::loss() const {
  if (gap_.count == 0) return std::nullopt;
  return LogLine{
      .time = gap_.from,
      .replica = std::string(kNoReplica),
      .text = fmt::format("{} since then not kept: {}", lines_text(gap_.count), gap_.reason)};
}

std::vector<LogLine> tail_log(const std::filesystem::path& file, const TailQuery& query) {
  const std::size_t wanted = std::min(query.lines, kTailLinesMax);
  std::size_t bytes_left = query.bytes_max;
  std::vector<LogLine> newest_first;
  for (int age = 0; age <= kOlderFilesMax && bytes_left > 0; ++age) {
    std::string text = read_end(older_file(file, age), bytes_left);
    if (text.empty() && age > 0) break;
    bytes_left -= std::min(bytes_left, text.size());
    std::string_view rest = text;
    while (!rest.empty() && newest_first.size() < wanted) {
      if (rest.back() == '\n') rest.remove_suffix(1);
      const auto before = rest.rfind('\n');
      const auto begin = before == std::string_view::npos ? 0 : before + 1;
      auto line = parse_line(rest.substr(begin));
      if (line && chosen(*line, query)) newest_first.push_back(std::move(*line));
      rest = rest.substr(0, begin);
    }
    if (newest_first.size() >= wanted) break;
  }
  std::reverse(newest_first.begin(), newest_first.end());
  // What names a loss is written after it, and stands where it began.
  std::stable_sort(newest_first.begin(), newest_first.end(), is_earlier);
  return newest_first;
}

}  // namespace sluice::local
