#pragma once

#include "common/metrics/families.h"
#include "common/time/time_point.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>

namespace sluice::metrics {

/// How latencies of one series are spread, in milliseconds and with the bounds of a Knative before
/// OBSERVABILITY_CONFIG (queue-proxy.md 12): 5 ms to 100 s.
class MillisecondHistogram {
 public:
  void observe(Duration took) {
    const std::int64_t time = std::max<std::int64_t>(0, took.count());
    const auto bound = std::lower_bound(kBounds.begin(), kBounds.end(), time,
                                        [](std::int64_t milliseconds, std::int64_t nanoseconds) {
                                          return milliseconds * kPerUnit < nanoseconds;
                                        });
    ++counts_[static_cast<std::size_t>(bound - kBounds.begin())];
    ++count_;
    sum_ += time;
  }

  [[nodiscard]] std::uint64_t count() const { return count_; }

  [[nodiscard]] HistogramView view() const {
    return {kTexts, counts_, static_cast<double>(sum_) / static_cast<double>(kPerUnit)};
  }

 private:
  static constexpr std::int64_t kPerUnit = 1'000'000;  // nanoseconds
  static constexpr std::array<std::int64_t, 26> kBounds{
      5,   10,  20,  40,  60,  80,  100,  150,  200,  250,    300,    350,    400,
      450, 500, 600, 700, 800, 900, 1000, 2000, 5000, 10'000, 20'000, 50'000, 100'000};
  static constexpr std::array<std::string_view, 26> kTexts{
      "5",   "10",   "20",   "40",   "60",    "80",    "100",   "150",   "200",
      "250", "300",  "350",  "400",  "450",   "500",   "600",   "700",   "800",
      "900", "1000", "2000", "5000", "10000", "20000", "50000", "100000"};

  std::array<std::uint64_t, kBounds.size() + 1> counts_{};
  std::uint64_t count_ = 0;
  std::int64_t sum_ = 0;
};

}  // namespace sluice::metrics
