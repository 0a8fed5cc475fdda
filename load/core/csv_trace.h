#pragma once

#include "common/base/result.h"

#include "load/core/placed_cells.h"
#include "load/core/recorded_request.h"
#include "load/core/trace.h"
#include "load/core/trace_lines.h"
#include "load/core/trace_time.h"
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

  /// Reads a line after the header.
  [[nodiscard]] std::optional<Skip> read(std::string_view line, const CellSink& sink);

  [[nodiscard]] PlacedCells& cells() { return cells_; }

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
  bool read_figure(Column column, std::string_view text);

  CsvFields fields_;
  std::vector<Column> columns_;
  Dates dates_;
  RecordedRequest request_;  // of the line being read
  PlacedCells cells_{kOrderKept};
};

}  // namespace sluice::loadgen
