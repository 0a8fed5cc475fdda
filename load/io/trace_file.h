#pragma once

#include "common/base/result.h"

#include "load/core/azure_trace.h"
#include "load/core/trace.h"
#include "load/core/trace_parser.h"
#include "load/core/trace_summary.h"
#include "load/io/unpacked_file.h"
#include <memory>
#include <optional>
#include <string>

namespace sluice::loadgen {

/// A trace in a file, read piece by piece, unpacked if gzip packed it. Beside
/// `invocations_per_function…` of azure2019 the durations are read, if they are there.
class TraceFile {
 public:
  /// `options`: how to read it; the format and the durations come from `name`.
  [[nodiscard]] static Result<TraceFile, Problem> open(const TraceName& name, TraceOptions options);

  /// Calls `sink` with the cells of the next piece. The problem names the file and the line; after
  /// one nothing more may be read.
  [[nodiscard]] std::optional<Problem> read(const CellSink& sink);

  /// Nothing is left to read.
  [[nodiscard]] bool ended() const { return ended_; }

  [[nodiscard]] const TraceFacts& facts() const { return parser_.facts(); }

 private:
  TraceFile(std::string path, UnpackedFile file, std::unique_ptr<AzureDurations> durations,
            TraceOptions options);

  std::string path_;
  UnpackedFile file_;
  std::unique_ptr<AzureDurations> durations_;  // of a fixed place: the parser refers to it
  TraceParser parser_;
  bool ended_ = false;
};

/// A trace, or a part of one.
struct TraceSurvey {
  TraceFacts facts;
  TraceSummary summary;
};

/// Reads a trace from its beginning to its end; the summary is of `part`.
[[nodiscard]] Result<TraceSurvey, Problem> survey_trace(const TraceName& name,
                                                        const TraceOptions& options,
                                                        const ReplayPart& part = {});

}  // namespace sluice::loadgen
