#pragma once

#include "common/base/result.h"

#include "load/core/placed_cells.h"
#include "load/core/recorded_request.h"
#include "load/core/trace.h"
#include "load/core/trace_lines.h"
#include <optional>
#include <string_view>

namespace sluice::loadgen {

/// The format `azure2021`, two weeks of Azure Functions of 2021: `app,func,end_timestamp,duration`,
/// a line per invocation in the order of their ends, both times in seconds. The function is the
/// service; what began before the trace begins at its start.
class Azure2021Trace {
 public:
  [[nodiscard]] static bool is_header(std::string_view line);

  [[nodiscard]] static Result<Azure2021Trace, Problem> open(std::string_view header);

  /// Reads a line after the header.
  [[nodiscard]] std::optional<Skip> read(std::string_view line, const CellSink& sink);

  [[nodiscard]] PlacedCells& cells() { return cells_; }

 private:
  CsvFields fields_;
  RecordedRequest request_;  // of the line being read
  PlacedCells cells_{order_kept(TraceFormat::azure2021)};
};

}  // namespace sluice::loadgen
