#pragma once

#include "common/base/result.h"

#include "load/core/trace.h"
#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace sluice::loadgen {

/// The format `sluice`, a recording (`sluice record`): JSON lines. Those of the type `traffic` have
/// the time at which a second of requests ended, how many arrived in it, and of the requests that
/// ended in it how many took at most so many milliseconds, by rising limits, and what they took
/// together:
/// `{"type":"traffic","at_ns":…,"arrivals":7,"service_ms":[[25,3],[40,1]],"service_total_ns":…}`.
/// `tenths` has how many of those that arrived and ended in it came in each tenth of the second;
/// the others came at its end. The first request that wakes the service came when an `eval` with
/// the trigger `poke` says.
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
  bool read_service(std::string_view limits, std::optional<std::int64_t> total_ns);
  [[nodiscard]] bool read_tenths(std::string_view counts, std::uint64_t arrivals);
  void emit(TimePoint begin, TimePoint end, std::uint64_t arrivals, const CellSink& sink);
  void emit_cell(TimePoint begin, TimePoint end, std::uint64_t arrivals, const CellSink& sink);

  std::optional<TimePoint> origin_;
  TimePoint newest_{};
  std::optional<TimePoint> woken_;  // by a request of the second whose line comes next
  TraceCell cell_;
  std::vector<std::pair<Duration, std::uint64_t>> limits_;  // of the line being read
  std::array<std::uint64_t, 10> tenths_{};                  // likewise
};

}  // namespace sluice::loadgen
