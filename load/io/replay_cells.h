#pragma once

#include "common/base/result.h"

#include "load/core/replay.h"
#include "load/io/trace_file.h"
#include <cstddef>
#include <optional>
#include <vector>

namespace sluice::loadgen {

/// The cells of a replay, from a file that is read as they are needed.
class ReplayCells {
 public:
  /// Reads the whole trace once, to complete `replay` and to find what is wrong before a request
  /// is sent.
  [[nodiscard]] static Result<ReplayCells, Problem> open(Replay& replay);

  /// As a CellReader. What cannot be read any more ends the cells.
  bool read(const CellSink& sink);

  /// Why the cells ended before the end of the trace, which has changed since open().
  [[nodiscard]] const std::optional<Problem>& problem() const { return problem_; }

 private:
  ReplayCells() = default;

  std::optional<TraceFile> file_;
  std::vector<TraceCell> periods_;  // in place of the file, for functions one after the other
  std::size_t passed_ = 0;          // of periods_
  std::optional<Problem> problem_;
};

}  // namespace sluice::loadgen
