#pragma once

#include "common/base/result.h"

#include "load/core/access_log_trace.h"
#include "load/core/azure2021_trace.h"
#include "load/core/azure_trace.h"
#include "load/core/csv_trace.h"
#include "load/core/har_trace.h"
#include "load/core/json_trace.h"
#include "load/core/log_format.h"
#include "load/core/recording_trace.h"
#include "load/core/trace.h"
#include "load/core/trace_lines.h"
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

namespace sluice::loadgen {

struct TraceOptions {
  std::optional<TraceFormat> format = {};  ///< absent: by how it begins
  std::string trigger = "http";            ///< of azure2019: the functions to read; empty: all
  /// Of azure2019; outlives the parser. Null: they are not known.
  const AzureDurations* durations = nullptr;
  std::optional<LogFormat> log_format = {};  ///< an access log whose lines are written so
  std::optional<JsonFields> fields = {};     ///< JSON lines that have what is read there
};

/// Reads a trace that comes in pieces, of any size. What it keeps of it does not grow with its
/// length. A line that cannot be used is counted; a trace that is none, or of another format than
/// the wanted one, or has a line longer than kTraceLineMax, is a problem, after which nothing more
/// may be fed. In a recording such a line is passed over: only those of its states are so long. A
/// HAR file may have lines of any length.
class TraceParser {
 public:
  explicit TraceParser(TraceOptions options);

  /// Calls `sink` with each cell that is now known.
  [[nodiscard]] std::optional<Problem> feed(std::string_view piece, const CellSink& sink);

  /// The trace has ended: calls `sink` with the rest. A trace without a request is a problem.
  [[nodiscard]] std::optional<Problem> finish(const CellSink& sink);

  [[nodiscard]] const TraceFacts& facts() const { return facts_; }

 private:
  CellSink counting(const CellSink& sink);
  std::optional<Problem> begin(bool har, const CellSink& sink);
  std::optional<Problem> pass(std::string_view piece, const CellSink& sink);
  void count(Skip skip, std::uint64_t number);
  std::optional<Problem> take_line(std::string_view line, const CellSink& sink);
  std::optional<Skip> read_line(std::string_view line, const CellSink& sink);
  std::optional<Problem> open(std::string_view line);
  [[nodiscard]] PlacedCells* placed();
  [[nodiscard]] bool has_header() const;
  [[nodiscard]] Result<TraceFormat, Problem> format_of(std::string_view line) const;

  TraceOptions options_;
  std::optional<std::string> begun_;  // until it shows whether it is a HAR file
  TraceLines lines_;
  std::variant<std::monostate, CsvTrace, AccessLogTrace, JsonTrace, HarTrace, AzureTrace,
               Azure2021Trace, RecordingTrace>
      trace_;
  TraceFacts facts_;
};

}  // namespace sluice::loadgen
