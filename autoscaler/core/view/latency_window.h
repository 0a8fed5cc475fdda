#pragma once

#include "common/time/time_point.h"

#include <array>
#include <cstddef>
#include <cstdint>

namespace sluice::autoscaler {

/// Buckets of a latency for a heat map: the first is up to 1 ms, each further one up to 1.5 times
/// the bound before, the last without a bound.
inline constexpr std::size_t kHeatBuckets = 24;
using HeatCounts = std::array<std::uint32_t, kHeatBuckets>;

/// Latencies of requests, for people to look at: buckets grow by an eighth, so a quantile is right
/// within 13 %.
class LatencyCounts {
 public:
  static constexpr std::size_t kBuckets = 256;

  /// The longest latency of a bucket.
  [[nodiscard]] static double upper_ms(std::size_t bucket);

  void record(Duration took) { ++counts_[bucket_of(took)]; }

  [[nodiscard]] std::uint64_t total() const;

  [[nodiscard]] std::uint32_t in(std::size_t bucket) const { return counts_[bucket]; }

  /// The quantile (0 to 1) in milliseconds; 0 without requests.
  [[nodiscard]] double quantile_ms(double quantile) const;

  /// The same requests in the buckets of a heat map.
  [[nodiscard]] HeatCounts heat() const;

  LatencyCounts& operator+=(const LatencyCounts& more);

  /// `part` was in these earlier.
  LatencyCounts& operator-=(const LatencyCounts& part);

 private:
  static std::size_t bucket_of(Duration took);

  std::array<std::uint32_t, kBuckets> counts_{};
};

/// Latencies of the last 30 to 60 seconds and the request rate of the last second.
class LatencyWindow {
 public:
  void record(Duration took, TimePoint now);

  /// The quantile (0 to 1) in milliseconds; 0 without requests.
  [[nodiscard]] double quantile_ms(double quantile, TimePoint now) const {
    return recent(now).quantile_ms(quantile);
  }

  /// All of them.
  [[nodiscard]] LatencyCounts recent(TimePoint now) const;

  /// Requests that ended in the second before the present one.
  [[nodiscard]] double rate(TimePoint now) const;

 private:
  friend class LatencyMark;

  [[nodiscard]] static std::int64_t half_of(TimePoint now);
  [[nodiscard]] const LatencyCounts* half(std::int64_t number) const;

  std::array<LatencyCounts, 2> halves_{};
  std::array<std::int64_t, 2> half_{};
  std::array<std::uint32_t, 2> per_second_{};
  std::array<std::int64_t, 2> second_{};
};

/// A place in a LatencyWindow up to which its requests were taken. Looks are less than 30 s apart,
/// or the requests between are lost.
class LatencyMark {
 public:
  /// The requests since the last call; at the first one all that the window has.
  [[nodiscard]] LatencyCounts take(const LatencyWindow& window, TimePoint now);

 private:
  bool marked_ = false;
  std::int64_t half_ = 0;
  LatencyCounts before_;  // of that half
};

}  // namespace sluice::autoscaler
