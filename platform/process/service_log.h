#pragma once

#include "common/base/result.h"
#include "common/time/time_point.h"

#include "platform/process/unique_fd.h"
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::local {

/// Longer lines are split.
inline constexpr std::size_t kLogLineBytesMax = std::size_t{16} << 10;

/// One line of a replica's output.
struct LogLine {
  TimePoint time;
  std::string replica;
  std::string text;

  friend bool operator==(const LogLine&, const LogLine&) = default;
};

struct ServiceLogLimits {
  std::int64_t file_bytes_max = std::int64_t{10} << 20;
  int files_max = 3;  ///< the current one and older ones, `.1` the youngest
};

/// Which lines tail_log returns.
struct TailQuery {
  std::size_t lines = 100;           ///< at most 10 000
  std::string replica = {};          ///< empty = all
  std::size_t bytes_max = 4U << 20;  ///< looked at, counted from the end
};

/// `logs/<service>.log`: each line with its time and replica (one-machine.md 7). A disk that is
/// full loses lines and gives one warning until it works again; nothing ever waits for it.
class ServiceLog {
 public:
  using Limits = ServiceLogLimits;

  /// `warn` gets the one warning. The directory is made when missing.
  ServiceLog(const std::filesystem::path& directory, const std::string& service,
             std::function<void(const std::string&)> warn, Limits limits = {});

  /// Writes one line, split at 16 KiB. Control characters but the tab are replaced by `?`.
  void append(TimePoint now, const std::string& replica, std::string_view text);

  [[nodiscard]] const std::filesystem::path& file() const { return file_; }

 private:
  void write_line(TimePoint now, const std::string& replica, std::string_view text);
  void open();
  void rotate();
  void fail(int error);

  std::filesystem::path file_;
  std::function<void(const std::string&)> warn_;
  Limits limits_;
  UniqueFd fd_;
  std::int64_t size_ = 0;
  bool failing_ = false;
};

/// The last lines of a log and its older files, oldest first. A missing file has none.
[[nodiscard]] std::vector<LogLine> tail_log(const std::filesystem::path& file,
                                            const TailQuery& query);

}  // namespace sluice::local
