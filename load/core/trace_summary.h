#pragma once

#include "common/base/result.h"

#include "load/core/replay.h"
#include "load/core/trace.h"
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace sluice::loadgen {

/// What the cells of one trace come to, or those of a part of it.
class TraceSummary {
 public:
  explicit TraceSummary(ReplayPart part = {}) : part_{part} {}

  /// The period with the most requests; of equal ones that which had them first.
  struct Busiest {
    Duration at{0};
    std::uint64_t requests = 0;
  };

  void add(const TraceCell& cell);

  [[nodiscard]] std::uint64_t requests() const { return requests_; }

  /// Requests with methods that a replay of the part does not send.
  [[nodiscard]] std::uint64_t left_out() const { return left_out_; }

  /// Requests whose duration is known, or from what it may be drawn.
  [[nodiscard]] std::uint64_t with_duration() const { return with_duration_; }

  /// When the first cell begins and the last one ends, since the start of the trace.
  [[nodiscard]] Duration first() const { return first_.value_or(Duration::zero()); }

  [[nodiscard]] Duration end() const { return end_; }

  /// How long the cells are; 0: the times are exact.
  [[nodiscard]] Duration resolution() const { return resolution_; }

  /// Over what requests are counted: a second, or a cell if that is longer.
  [[nodiscard]] Duration period() const { return period_; }

  [[nodiscard]] const Busiest& busiest() const { return busiest_; }

  /// One cell for each period with requests, in order: the trace without its kinds of requests. Of
  /// a trace with more than kPeriodsKept periods only the last ones are there; azure2019 has fewer.
  [[nodiscard]] std::vector<TraceCell> periods() const;

  static constexpr std::size_t kPeriodsKept = 4096;

 private:
  ReplayPart part_;
  std::uint64_t requests_ = 0;
  std::uint64_t left_out_ = 0;
  std::uint64_t with_duration_ = 0;
  std::optional<Duration> first_;
  Duration end_{0};
  Duration resolution_{0};
  Duration period_{0};
  Busiest busiest_;
  std::map<std::int64_t, std::uint64_t> counts_;  // by number of the period, the last ones
};

/// What was understood of a trace: lines for a person, ending in a newline.
[[nodiscard]] std::string trace_text(const TraceFacts& facts, const TraceSummary& summary);

/// Completes `replay` by what its part of the trace, which `summary` is of, has; the problem is
/// that it cannot be sent.
[[nodiscard]] std::optional<Problem> complete(Replay& replay, const TraceFacts& facts,
                                              const TraceSummary& summary);

}  // namespace sluice::loadgen
