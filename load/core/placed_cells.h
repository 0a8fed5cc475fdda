#pragma once

#include "load/core/trace.h"
#include "load/core/trace_time.h"
#include <cstddef>
#include <optional>
#include <vector>

namespace sluice::loadgen {

/// Places requests that are read one by one in the time of their trace. The first thousand, or
/// those of 64 KiB, are kept until it is clear how fine the times are: those of a trace with whole
/// seconds have cells of a second.
class PlacedCells {
 public:
  /// `order_kept`: how far times may go back.
  explicit PlacedCells(Duration order_kept) : order_kept_{order_kept} {}

  /// Takes a request that began at `time`, from a line of `bytes`; passes on what is now known.
  [[nodiscard]] std::optional<Skip> add(TraceCell& cell, const RequestTime& time, std::size_t bytes,
                                        const CellSink& sink);

  /// Passes on what is kept.
  void finish(const CellSink& sink);

  /// Where `at` counts from; absent: the times are not dated, or there was none.
  [[nodiscard]] std::optional<TimePoint> origin() const;

 private:
  Duration order_kept_;
  std::optional<Duration> first_;
  Duration newest_{0};
  bool dated_ = false;
  int digits_ = 0;  // of a second, the most in one line
  std::size_t looked_bytes_ = 0;
  bool looking_ = true;
  std::vector<TraceCell> kept_;
  Duration resolution_{0};
};

}  // namespace sluice::loadgen
