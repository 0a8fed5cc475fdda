#pragma once

#include "common/time/time_point.h"

#include <cstdint>
#include <utility>
#include <vector>

namespace sluice::loadgen {

/// Counts durations in log-linear buckets: three significant digits everywhere from one nanosecond
/// to one hour. It takes 2 KiB for each quarter of a doubling in which something was counted, at
/// most 270 KiB.
class Histogram {
 public:
  /// Longer durations are counted as this one.
  static constexpr Duration kLongest = std::chrono::hours{1};

  Histogram();

  /// Counts `value` so many times; below zero counts as zero.
  void record(Duration value, std::uint64_t times = 1);

  /// Counts all that `other` has counted.
  void add(const Histogram& other);

  [[nodiscard]] std::uint64_t count() const { return count_; }

  /// The smallest and largest value counted, exact; zero when nothing was.
  [[nodiscard]] Duration min() const { return count_ == 0 ? Duration::zero() : min_; }

  [[nodiscard]] Duration max() const { return max_; }

  [[nodiscard]] Duration mean() const;

  /// The value that `percent` (0 to 100) of all counted do not exceed, rounded up by at most
  /// 0.1 %, never above max(). Zero when nothing was counted.
  [[nodiscard]] Duration percentile(double percent) const;

  /// The buckets with a count above 0, in order, by their places in HdrHistogram: in nanoseconds
  /// with three digits.
  [[nodiscard]] std::vector<std::pair<std::uint32_t, std::uint64_t>> buckets() const;

  /// The largest value that falls into a bucket.
  [[nodiscard]] static Duration upper_edge_of(std::uint32_t bucket);

  /// How many of all counted are `value` or less; those up to 0.1 % above count with them.
  [[nodiscard]] std::uint64_t count_to(Duration value) const;

 private:
  std::vector<std::vector<std::uint64_t>> chunks_;  // empty until something is counted in them
  std::uint64_t count_ = 0;
  double sum_ = 0;  // of nanoseconds; a double holds the sum of any run to well below 0.1 %
  Duration min_{Duration::max()};
  Duration max_{0};
};

}  // namespace sluice::loadgen
