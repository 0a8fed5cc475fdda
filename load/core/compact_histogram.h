#pragma once

#include "common/base/result.h"
#include "common/time/time_point.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::loadgen {

/// Counts durations in the log-linear buckets of HdrHistogram, up to one hour. It takes eight bytes
/// for each bucket in which something was counted, so that each second of a long run can have one.
class CompactHistogram {
 public:
  enum class Digits : std::uint8_t {
    two,    ///< of microseconds: below 256 a bucket for each, above 128 in each doubling
    three,  ///< of nanoseconds: below 2048 a bucket for each, above 1024 in each doubling
  };

  /// Longer durations are counted as this one.
  static constexpr Duration kLongest = std::chrono::hours{1};

  struct Bucket {
    std::uint32_t index = 0;
    std::uint32_t count = 0;

    friend bool operator==(const Bucket&, const Bucket&) = default;
  };

  explicit CompactHistogram(Digits digits = Digits::two) : digits_{digits} {}

  /// Counts `value`, rounded up to the unit; below zero counts as zero.
  void record(Duration value);
  /// Counts all that `other`, of as many digits, has counted.
  void add(const CompactHistogram& other);

  [[nodiscard]] std::uint64_t count() const { return count_; }

  /// In order, each with a count above 0.
  [[nodiscard]] const std::vector<Bucket>& buckets() const { return buckets_; }

  /// The value that `percent` (0 to 100) of all counted do not exceed, rounded up to the edge of
  /// its bucket. Zero when nothing was counted.
  [[nodiscard]] Duration percentile(double percent) const;

  /// Gives memory back that only growth needs.
  void shrink() { buckets_.shrink_to_fit(); }

  /// The same with two digits.
  [[nodiscard]] CompactHistogram coarse() const;

  /// The same, of two digits, with four buckets for each doubling, as a chart shows it: each counts
  /// as its largest.
  [[nodiscard]] CompactHistogram charted() const;

  /// The buckets of two digits as text: for each its distance from the one before, the first from
  /// 0, with `xCOUNT` behind it unless that is 1, separated by blanks: `98 1x3 12`.
  [[nodiscard]] std::string text() const;
  /// Reads what text() writes, of at most 64 KiB.
  [[nodiscard]] static Result<CompactHistogram, Problem> parse(std::string_view text);

  /// The largest value that falls into the bucket.
  [[nodiscard]] Duration upper_edge(std::uint32_t index) const;

  friend bool operator==(const CompactHistogram&, const CompactHistogram&) = default;

 private:
  void count(std::uint32_t index, std::uint32_t times);
  [[nodiscard]] std::uint32_t index_of(Duration value) const;

  Digits digits_;
  std::vector<Bucket> buckets_;
  std::uint64_t count_ = 0;
};

}  // namespace sluice::loadgen
