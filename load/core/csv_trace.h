#pragma once

#include "common/base/result.h"

#include "load/core/trace.h"
#include "load/core/trace_lines.h"
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace sluice::loadgen {

/// The format `csv`: a header line that names the columns, then a line per request. `time` is RFC
/// 3339, or seconds or milliseconds since 1970; `at_s` is seconds since the start. One of both is
/// needed; `method path host service duration_ms status body_bytes` may be there, and other columns
/// have no effect. Empty fields and `-` are absent.
class CsvTrace {
 public:
  /// Whether `line` can be the header.
  [[nodiscard]] static bool is_header(std::string_view line);

  [[nodiscard]] static Result<CsvTrace, Problem> open(std::string_view header);

  /// Reads a line after the header. The first lines are kept until it is clear how fine the times
  /// of the file are: those of a file with whole seconds have cells of a second.
  [[nodiscard]] std::optional<Skip> read(std::string_view line, const CellSink& sink);

  /// Passes on what is kept.
  void finish(const CellSink& sink);

  /// Where `at` counts from.
  [[nodiscard]] std::optional<TimePoint> origin() const;

 private:
  enum class Column : std::uint8_t {
    none,
    time,
    at_s,
    method,
    path,
    host,
    service,
    duration_ms,
    status,
    body_bytes,
  };

  struct Name {
    std::string_view text;
    Column column;
  };

  static constexpr std::array<Name, 9> kNames{{{"time", Column::time},
                                               {"at_s", Column::at_s},
                                               {"method", Column::method},
                                               {"path", Column::path},
                                               {"host", Column::host},
                                               {"service", Column::service},
                                               {"duration_ms", Column::duration_ms},
                                               {"status", Column::status},
                                               {"body_bytes", Column::body_bytes}}};

  static Column column_of(std::string_view name);

  std::optional<Skip> read_fields();
  bool read_time(std::string_view text);
  bool read_figure(Column column, std::string_view text);
  std::optional<Skip> place();

  CsvFields fields_;
  std::vector<Column> columns_;
  TraceCell cell_;  // of the line being read
  Duration time_{0};
  bool dated_ = false;
  std::optional<bool> in_milliseconds_;  // of numbers in `time`; absent: none was read
  std::optional<Duration> first_;
  Duration newest_{0};

  int digits_ = 0;  // of a second, the most in one line
  std::size_t looked_bytes_ = 0;
  bool looking_ = true;
  std::vector<TraceCell> kept_;
  Duration resolution_{0};
};

}  // namespace sluice::loadgen
