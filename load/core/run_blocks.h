#pragma once

#include "common/time/time_point.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace sluice::loadgen {

/// So many requests had a latency above `low` and up to `high`.
struct LatencyCell {
  Duration low{0};
  Duration high{0};
  std::uint64_t count = 0;

  friend bool operator==(const LatencyCell&, const LatencyCell&) = default;
};

/// What came of the requests that were planned in one stretch of a run.
struct RunBlock {
  Duration length{0};
  std::uint64_t due = 0;
  std::uint64_t sent = 0;
  std::uint64_t errors = 0;               ///< those not sent too
  Duration max{0};                        ///< the longest latency, exact
  std::vector<LatencyCell> latency = {};  ///< in order of `high`, no two alike

  friend bool operator==(const RunBlock&, const RunBlock&) = default;
};

/// Adds what `other` counted, and its length.
void add(RunBlock& block, const RunBlock& other);

/// Joins the seconds of a run to blocks of 10 s as they come, of whole multiples of it where there
/// would be more than kMost, and of a run below a minute to blocks of a sixth, at least 1 s. So
/// runs of one length have blocks of one length.
class BlockSeries {
 public:
  static constexpr std::size_t kMost = 360;
  static constexpr Duration kLength = std::chrono::seconds{10};

  /// `at` is the offset of the piece in the run, not before that of the piece before, and its
  /// length tells until when it goes.
  void add(Duration at, const RunBlock& piece);

  /// A last block that is shorter than half the others belongs to the one before it.
  [[nodiscard]] std::vector<RunBlock> finish() const;

 private:
  void widen(std::size_t times);

  Duration width_ = std::chrono::seconds{1};
  std::vector<RunBlock> blocks_;  // at most kMost, of width_
};

}  // namespace sluice::loadgen
