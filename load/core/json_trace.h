#pragma once

#include "common/base/result.h"

#include "load/core/placed_cells.h"
#include "load/core/recorded_request.h"
#include "load/core/trace.h"
#include "load/core/trace_time.h"
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sluice::loadgen {

/// Where the lines of a log of JSON objects have what is read.
class JsonFields {
 public:
  static constexpr std::size_t kFieldsMax = 32;

  /// Reads `time=ts,path=request.uri`: names of ours, and the members in which they are, from the
  /// outermost inwards. Ours are those of `csv`; `end_time` in place of `time` is when a request
  /// ended, and `duration_s duration_us duration_ns` are durations in other units.
  [[nodiscard]] static Result<JsonFields, Problem> parse(std::string_view text);

  /// The fields of the log that a line with this object is of: Knative's and Sluice's request log,
  /// those of Envoy, Caddy and Traefik, else of one with our names. `dated`: a date is before it.
  /// Nothing: it is of none.
  [[nodiscard]] static std::optional<JsonFields> guess(std::string_view object, bool dated);

  /// Whose log it is; empty: not known.
  [[nodiscard]] std::string_view written_by() const { return written_by_; }

  /// Reads an object into `request`, of which nothing is known but perhaps the time.
  [[nodiscard]] std::optional<Skip> read(std::string_view object, Dates& dates,
                                         RecordedRequest& request) const;

 private:
  enum class Column : std::uint8_t {
    time,
    end_time,
    at_s,
    method,
    path,
    host,
    service,
    status,
    body_bytes,
    duration_s,
    duration_ms,
    duration_us,
    duration_ns,
  };

  struct Name {
    std::string_view text;
    Column column;
  };

  struct Field {
    Column column;
    std::vector<std::string> members;  // from the outermost inwards
  };

  static std::optional<Column> column_of(std::string_view name);
  [[nodiscard]] static Result<JsonFields, Problem> read_list(std::string_view text);
  static std::optional<Skip> put(Column column, const std::string& text, Dates& dates,
                                 RecordedRequest& request);
  [[nodiscard]] bool has_time(std::string_view object) const;
  [[nodiscard]] bool has_all_needed(std::string_view object) const;

  std::vector<Field> fields_;
  std::vector<std::vector<std::string>> needed_;  // what other lines of the same log lack
  std::string_view written_by_;
};

/// The format `jsonl`: an object per line. A date before it, with a blank between, is when the
/// request ended: so `kubectl logs --timestamps` gives one to lines that have none.
class JsonTrace {
 public:
  /// `fields`: absent: by the first line that has those of a known log.
  explicit JsonTrace(std::optional<JsonFields> fields) : fields_{std::move(fields)} {}

  /// Whether `line` is an object, or a date and one.
  [[nodiscard]] static bool is_line(std::string_view line);

  [[nodiscard]] std::optional<Skip> read(std::string_view line, const CellSink& sink);

  [[nodiscard]] PlacedCells& cells() { return cells_; }

  /// Whose log it is; empty: not known.
  [[nodiscard]] std::string_view written_by() const;

 private:
  std::optional<JsonFields> fields_;
  Dates dates_;
  RecordedRequest request_;  // of the line being read
  PlacedCells cells_{order_kept(TraceFormat::jsonl)};
};

}  // namespace sluice::loadgen
