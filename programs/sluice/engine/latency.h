#pragma once

#include "common/time/time_point.h"

#include <array>
#include <cstdint>

namespace sluice::local {

/// Latency quantiles over the last 30 to 60 seconds and the request rate of the last second, for
/// people to look at: buckets grow by an eighth, so a quantile is right within 13 %.
class LatencyWindow {
 public:
  static constexpr std::size_t kBuckets = 256;

  [[nodiscard]] static std::size_t bucket_of(Duration took);

  /// The longest latency of a bucket.
  [[nodiscard]] static double upper_ms(std::size_t bucket);

  void record(Duration took, TimePoint now);

  /// The quantile (0 to 1) in milliseconds; 0 without requests.
  [[nodiscard]] double quantile_ms(double quantile, TimePoint now) const;

  /// Requests that ended in the second before the present one.
  [[nodiscard]] double rate(TimePoint now) const;

 private:
  using Counts = std::array<std::uint32_t, kBuckets>;

  std::array<Counts, 2> halves_{};
  std::array<std::int64_t, 2> half_{};
  std::array<std::uint32_t, 2> per_second_{};
  std::array<std::int64_t, 2> second_{};
};

}  // namespace sluice::local
