#pragma once

#include "common/base/result.h"

#include "load/core/trace.h"
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace sluice::loadgen {

/// The format `sluice`, a recording (`sluice record`): JSON lines. Those of the type `traffic` have
/// the time at which a second of requests ended, how many arrived in it, and of the requests that
/// ended in it how many took at most so many milliseconds, by rising limits:
/// `{"type":"traffic","at_ns":…,"arrivals":7,"service_ms":[[25,3],[40,1]]}`.
class RecordingTrace {
 public:
  /// Whether `line`, of which the end may be missing, can be the first.
  [[nodiscard]] static bool is_header(std::string_view line);

  [[nodiscard]] static Result<RecordingTrace, Problem> open(std::string_view header);

  /// Reads a line after the header; lines of other types are no skips.
  [[nodiscard]] std::optional<Skip> read(std::string_view line, const CellSink& sink);

  /// Where `at` counts from.
  [[nodiscard]] std::optional<TimePoint> origin() const { return origin_; }

 private:
  bool read_service(std::string_view limits);

  std::optional<TimePoint> origin_;
  TimePoint newest_{};
  TraceCell cell_;
  std::vector<std::pair<Duration, std::uint64_t>> limits_;  // of the line being read
};

}  // namespace sluice::loadgen
