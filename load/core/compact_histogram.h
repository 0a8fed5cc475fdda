#pragma once

#include "common/base/result.h"
#include "common/time/time_point.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::loadgen {

/// Counts durations in log-linear buckets of two significant digits from one microsecond to one
/// hour: below 256 us a bucket for each, above 128 of equal width in each doubling, so that none is
/// wider than 1/128 of its lower edge. It takes eight bytes for each bucket in which something was
/// counted, so that each second of a long run can have one.
class CompactHistogram {
 public:
  /// Longer durations are counted as this one.
  static constexpr Duration kLongest = std::chrono::hours{1};

  struct Bucket {
    std::uint32_t index = 0;
    std::uint32_t count = 0;

    friend bool operator==(const Bucket&, const Bucket&) = default;
  };

  /// Counts `value`, rounded up to a microsecond; below zero counts as zero.
  void record(Duration value);
  /// Counts all that `other` has counted.
  void add(const CompactHistogram& other);

  [[nodiscard]] std::uint64_t count() const { return count_; }

  /// In order, each with a count above 0.
  [[nodiscard]] const std::vector<Bucket>& buckets() const { return buckets_; }

  /// The value that `percent` (0 to 100) of all counted do not exceed, rounded up to the edge of
  /// its bucket. Zero when nothing was counted.
  [[nodiscard]] Duration percentile(double percent) const;

  /// Gives memory back that only growth needs.
  void shrink() { buckets_.shrink_to_fit(); }

  /// The buckets as text: for each its distance from the one before, the first from 0, with
  /// `xCOUNT` behind it unless that is 1, separated by blanks: `98 1x3 12`.
  [[nodiscard]] std::string text() const;
  /// Reads what text() writes, of at most 64 KiB.
  [[nodiscard]] static Result<CompactHistogram, Problem> parse(std::string_view text);

  /// The largest value that falls into the bucket.
  [[nodiscard]] static Duration upper_edge(std::uint32_t index);

  friend bool operator==(const CompactHistogram&, const CompactHistogram&) = default;

 private:
  void count(std::uint32_t index, std::uint32_t times);

  std::vector<Bucket> buckets_;
  std::uint64_t count_ = 0;
};

}  // namespace sluice::loadgen
