#pragma once

#include "common/time/time_point.h"

#include "platform/process/bounded_file.h"
#include "platform/process/write_failures.h"
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
  std::int64_t start = 0;  ///< which start of a replica of the service it was; 0: not recorded

  friend bool operator==(const LogLine&, const LogLine&) = default;
};

/// In place of a replica in lines about the log itself.
inline constexpr std::string_view kNoReplica = "-";

/// Whose output a line is.
struct LogSource {
  std::string_view replica;
  std::int64_t start = 0;
};

/// Which lines tail_log returns.
struct TailQuery {
  std::size_t lines = 100;              ///< at most 10 000
  std::string replica = {};             ///< empty = all
  std::size_t bytes_max = 4U << 20;     ///< looked at, counted from the end
  std::optional<TimePoint> since = {};  ///< only lines of then and later
};

/// `logs/<service>.log`: each line with its time, its replica and the number of its start
/// (one-machine.md 7). A disk that is full loses lines and gives one warning until it works again;
/// nothing ever waits for it, and the log names what it lost.
class ServiceLog {
 public:
  using Limits = FileLimits;
  using Warn = std::function<void(const std::string&)>;

  /// `warn` gets the one warning; that of a full disk comes once for all logs that share
  /// `full_disk`, which outlives them or is null.
  ServiceLog(const std::filesystem::path& directory, const std::string& service, Warn warn,
             Limits limits = {}, FailureNotice* full_disk = nullptr);

  /// The number of the start that begins now: it continues from the highest that the log holds.
  [[nodiscard]] std::int64_t begin_start();

  /// Writes one line, split at 16 KiB. Control characters but the tab are replaced by `?`.
  void append(TimePoint now, const LogSource& source, std::string_view text);

  [[nodiscard]] const std::filesystem::path& file() const { return file_.file(); }

  /// A line about what is being lost at present; nothing when lines are kept.
  [[nodiscard]] std::optional<LogLine> loss() const;

 private:
  void write_line(TimePoint now, const LogSource& source, std::string_view text);
  [[nodiscard]] FailureNotice& notice_of(int error);
  void fail(TimePoint now, int error);
  void name_loss(TimePoint now);

  BoundedFile file_;
  Warn warn_;
  FailureNotice own_notice_;
  FailureNotice* full_disk_;
  Gap gap_;  // count 0: none
  std::optional<std::int64_t> last_start_;
};

/// The order of the lines of a log.
[[nodiscard]] bool is_earlier(const LogLine& one, const LogLine& other);

/// The last lines of a log and its older files, oldest first. A missing file has none.
[[nodiscard]] std::vector<LogLine> tail_log(const std::filesystem::path& file,
                                            const TailQuery& query);

}  // namespace sluice::local
