#pragma once

#include "common/base/result.h"

#include "load/core/azure_trace.h"
#include "load/core/csv_trace.h"
#include "load/core/recording_trace.h"
#include "load/core/trace.h"
#include "load/core/trace_lines.h"
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace sluice::loadgen {

struct TraceOptions {
  std::optional<TraceFormat> format = {};  ///< absent: by the first line
  std::string trigger = "http";            ///< of azure2019: the functions to read; empty: all
  /// Of azure2019; outlives the parser. Null: they are not known.
  const AzureDurations* durations = nullptr;
};

/// Reads a trace that comes in pieces, of any size. What it keeps of it does not grow with its
/// length. A line that cannot be used is counted; a trace that is none, or has a line longer than
/// kTraceLineMax, is a problem, after which nothing more may be fed. In a recording such a line
/// is passed over: only those of its states are so long.
class TraceParser {
 public:
  explicit TraceParser(TraceOptions options) : options_{std::move(options)} {}

  /// Calls `sink` with each cell that is now known.
  [[nodiscard]] std::optional<Problem> feed(std::string_view piece, const CellSink& sink);

  /// The trace has ended: calls `sink` with the rest. A trace without a request is a problem.
  [[nodiscard]] std::optional<Problem> finish(const CellSink& sink);

  [[nodiscard]] const TraceFacts& facts() const { return facts_; }

 private:
  CellSink counting(const CellSink& sink);
  std::optional<Problem> take_line(std::string_view line, const CellSink& sink);
  std::optional<Problem> open(std::string_view line);
  [[nodiscard]] Result<TraceFormat, Problem> format_of(std::string_view line) const;

  TraceOptions options_;
  TraceLines lines_;
  std::variant<std::monostate, CsvTrace, AzureTrace, RecordingTrace> trace_;
  TraceFacts facts_;
};

}  // namespace sluice::loadgen
