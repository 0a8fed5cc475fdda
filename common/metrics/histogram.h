#pragma once

#include "common/metrics/families.h"

#include <array>
#include <bit>
#include <cstdint>
#include <limits>
#include <string_view>

namespace sluice::metrics {

/// Upper bounds of a histogram's buckets, as numbers and as the text of `le`. The numbers are whole
/// (nanoseconds, bytes), so that finding a bucket compares integers and sums are exact.
template <std::size_t N>
class Buckets {
 public:
  /// `per_unit`: how many make one of the unit exposed, 1e9 for nanoseconds shown as seconds.
  /// `bounds` rise.
  constexpr Buckets(const std::array<std::int64_t, N>& bounds,
                    const std::array<std::string_view, N>& texts, double per_unit)
      : texts_{texts}, per_unit_{per_unit} {
    bounds_.fill(std::numeric_limits<std::int64_t>::max());
    for (std::size_t i = 0; i < N; ++i) bounds_[i] = bounds[i];
    for (std::size_t width = 1; width < first_.size(); ++width) {
      const std::int64_t least = std::int64_t{1} << (width - 1);
      while (first_[width] < N && bounds_[first_[width]] < least) ++first_[width];
    }
  }

  /// The bucket `value` falls into: the first whose bound is not below it, N when none is. `value`
  /// is at least 0.
  [[nodiscard]] constexpr std::size_t find(std::int64_t value) const {
    // The highest bit says where to begin, and no two powers of two have more than two bounds
    // between them: no branch depends on the value.
    std::size_t place = first_[std::bit_width(static_cast<std::uint64_t>(value))];
    place += bounds_[place] < value ? 1U : 0U;
    place += bounds_[place] < value ? 1U : 0U;
    return place;
  }

  [[nodiscard]] constexpr const std::array<std::string_view, N>& texts() const { return texts_; }

  [[nodiscard]] constexpr double per_unit() const { return per_unit_; }

 private:
  std::array<std::int64_t, N + 1> bounds_{};  // the last is above everything
  std::array<std::uint8_t, 64> first_{};      // by bit width of a value: no lower bound is below it
  std::array<std::string_view, N> texts_;
  double per_unit_;
};

/// How the values of one series are spread.
template <std::size_t N>
struct Histogram {
  std::array<std::uint64_t, N + 1> counts{};  ///< not cumulative
  std::int64_t sum = 0;

  /// `bucket` is what Buckets::find said of `value`; several series may share one search.
  void observe(std::size_t bucket, std::int64_t value) {
    ++counts[bucket];
    sum += value;
  }

  [[nodiscard]] HistogramView view(const Buckets<N>& buckets) const {
    return {buckets.texts(), counts, static_cast<double>(sum) / buckets.per_unit()};
  }
};

/// Seconds, as the HTTP conventions of OpenTelemetry advise (queue-proxy.md 12).
inline constexpr Buckets<14> kSeconds{
    {5'000'000, 10'000'000, 25'000'000, 50'000'000, 75'000'000, 100'000'000, 250'000'000,
     500'000'000, 750'000'000, 1'000'000'000, 2'500'000'000, 5'000'000'000, 7'500'000'000,
     10'000'000'000},
    {"0.005", "0.01", "0.025", "0.05", "0.075", "0.1", "0.25", "0.5", "0.75", "1", "2.5", "5",
     "7.5", "10"},
    1e9};

/// Bytes: OpenTelemetry's default bounds, which end at 10 kB, and five more up to 1 GB.
inline constexpr Buckets<20> kBytes{
    {0,      5,       10,        25,         50,          75,           100,
     250,    500,     750,       1'000,      2'500,       5'000,        7'500,
     10'000, 100'000, 1'000'000, 10'000'000, 100'000'000, 1'000'000'000},
    {"0",    "5",    "10",   "25",   "50",    "75",     "100",   "250",   "500",   "750",
     "1000", "2500", "5000", "7500", "10000", "100000", "1e+06", "1e+07", "1e+08", "1e+09"},
    1};

}  // namespace sluice::metrics
