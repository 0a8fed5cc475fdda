#pragma once

#include "load/core/log_format.h"
#include "load/core/placed_cells.h"
#include "load/core/recorded_request.h"
#include "load/core/trace.h"
#include <optional>
#include <string_view>
#include <utility>

namespace sluice::loadgen {

/// The formats `combined`, `common` and `log`: a line of an access log per request.
class AccessLogTrace {
 public:
  AccessLogTrace(LogFormat line, TraceFormat format)
      : line_{std::move(line)}, cells_{order_kept(format)} {}

  /// Which of the two known formats `line` has.
  [[nodiscard]] static std::optional<TraceFormat> format_of(std::string_view line);

  [[nodiscard]] std::optional<Skip> read(std::string_view line, const CellSink& sink);

  [[nodiscard]] PlacedCells& cells() { return cells_; }

 private:
  LogFormat line_;
  RecordedRequest request_;  // of the line being read
  PlacedCells cells_;
};

}  // namespace sluice::loadgen
