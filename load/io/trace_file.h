#pragma once

#include "common/base/result.h"

#include "load/core/azure_trace.h"
#include "load/core/trace.h"
#include "load/core/trace_parser.h"
#include "load/core/trace_summary.h"
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace sluice::loadgen {

/// A trace in a file, read piece by piece. Beside `invocations_per_function…` of azure2019 the
/// durations are read, if they are there.
class TraceFile {
 public:
  /// `trigger`: of azure2019 the functions to read; empty: all.
  [[nodiscard]] static Result<TraceFile, Problem> open(const TraceName& name,
                                                       const std::string& trigger);

  /// Calls `sink` with the cells of the next piece. The problem names the file and the line; after
  /// one nothing more may be read.
  [[nodiscard]] std::optional<Problem> read(const CellSink& sink);

  /// Nothing is left to read.
  [[nodiscard]] bool ended() const { return ended_; }

  [[nodiscard]] const TraceFacts& facts() const { return parser_.facts(); }

 private:
  TraceFile(std::string path, std::ifstream file, std::unique_ptr<AzureDurations> durations,
            TraceOptions options);

  std::string path_;
  std::ifstream file_;
  std::unique_ptr<AzureDurations> durations_;  // of a fixed place: the parser refers to it
  TraceParser parser_;
  std::vector<char> piece_;
  bool ended_ = false;
};

/// The trigger of the functions that are read of azure2019.
inline constexpr const char* kReadTrigger = "http";

/// A whole trace.
struct TraceSurvey {
  TraceFacts facts;
  TraceSummary summary;
};

/// Reads a trace from its beginning to its end.
[[nodiscard]] Result<TraceSurvey, Problem> survey_trace(const TraceName& name);

}  // namespace sluice::loadgen
