#pragma once

#include "load/core/compact_histogram.h"
#include "load/core/ending.h"
#include <cstddef>
#include <cstdint>
#include <vector>

namespace sluice::loadgen {

struct Outcome;

/// What happened to the requests to one target that were planned in one second.
struct Second {
  std::uint64_t sent = 0;
  std::uint64_t answered = 0;
  std::uint64_t errors = 0;    ///< no whole answer, 5xx, or not sent
  std::uint64_t not_sent = 0;  ///< fell due and were never taken up
  Duration max{0};             ///< the longest latency, exact
  CompactHistogram latency{CompactHistogram::Digits::three};
  std::uint64_t taken = 0;  ///< requests, whenever planned, that were taken up in this second
  std::uint64_t ended = 0;  ///< requests, whenever planned, that ended in this second

  /// Adds what `other` counted.
  void add(const Second& other);
};

/// The seconds of a run, by target. Its memory has a limit whatever the length of the run: when
/// there are too many seconds or buckets, neighbours become one and a row is twice as long.
class SecondSeries {
 public:
  static constexpr std::size_t kSecondsMax = 16'384;
  static constexpr std::size_t kBucketsMax = 1U << 21U;

  SecondSeries() = default;
  /// The first second begins at `from`, an offset in the run; requests before it are left out.
  SecondSeries(std::size_t targets, Duration from);

  void sent(std::size_t target, Duration planned, Duration taken);
  /// `error`: the caller of the service would call it one.
  void finished(std::size_t target, const Outcome& outcome, bool error);
  void unsent(std::size_t target, Duration planned);
  /// Adds what another series of the same targets and beginning counted.
  void add(const SecondSeries& other);

  [[nodiscard]] std::size_t targets() const { return targets_; }

  [[nodiscard]] std::size_t rows() const { return targets_ == 0 ? 0 : cells_.size() / targets_; }

  [[nodiscard]] Duration begin_of(std::size_t row) const {
    return from_ + static_cast<std::int64_t>(row) * step_;
  }

  /// How long a row is: 1 s, or that doubled so many times.
  [[nodiscard]] Duration step() const { return step_; }

  [[nodiscard]] const Second& at(std::size_t row, std::size_t target) const {
    return cells_[row * targets_ + target];
  }

  /// Requests to `target` that were on their way at the end of each row.
  [[nodiscard]] std::vector<std::uint64_t> in_flight(std::size_t target) const;

 private:
  Second& cell_of(std::size_t target, Duration at);
  void record(Second& second, Duration latency);
  void widen();

  std::size_t targets_ = 0;
  Duration from_{0};
  Duration step_ = std::chrono::seconds{1};
  std::vector<Second> cells_;  // row by row
  std::size_t buckets_ = 0;    // of all cells
};

}  // namespace sluice::loadgen
