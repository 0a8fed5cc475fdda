#include "autoscaler/core/view/latency_window.h"

#include <algorithm>
#include <bit>

namespace sluice::autoscaler {
namespace {

constexpr std::int64_t kHalfSeconds = 30;
constexpr double kHeatGrowth = 1.5;

std::int64_t seconds_of(TimePoint now) {
  return std::chrono::duration_cast<std::chrono::seconds>(now.time_since_epoch()).count();
}

}  // namespace

// Microseconds as exponent and three bits of mantissa.
std::size_t LatencyCounts::bucket_of(Duration took) {
  const auto micros = static_cast<std::uint64_t>(std::max<std::int64_t>(
      0, std::chrono::duration_cast<std::chrono::microseconds>(took).count()));
  if (micros < 8) return static_cast<std::size_t>(micros);
  const auto exponent = static_cast<std::size_t>(std::bit_width(micros)) - 4U;
  return std::min(kBuckets - 1,
                  (exponent + 1) * 8 + static_cast<std::size_t>((micros >> exponent) & 7U));
}

double LatencyCounts::upper_ms(std::size_t bucket) {
  if (bucket < 8) return static_cast<double>(bucket + 1) / 1000;
  const std::size_t exponent = bucket / 8 - 1;
  return static_cast<double>((8 + bucket % 8 + 1) * (std::uint64_t{1} << exponent)) / 1000;
}

std::uint64_t LatencyCounts::total() const {
  std::uint64_t sum = 0;
  for (const std::uint32_t count : counts_) sum += count;
  return sum;
}

double LatencyCounts::quantile_ms(double quantile) const {
  const std::uint64_t all = total();
  if (all == 0) return 0;
  const double wanted = quantile * static_cast<double>(all);
  std::uint64_t seen = 0;
  for (std::size_t bucket = 0; bucket < kBuckets; ++bucket) {
    seen += counts_[bucket];
    if (static_cast<double>(seen) >= wanted && seen > 0) return upper_ms(bucket);
  }
  return upper_ms(kBuckets - 1);
}

// A bucket that a bound of the heat map divides belongs where its middle is.
HeatCounts LatencyCounts::heat() const {
  HeatCounts heat{};
  std::size_t at = 0;
  double bound = 1;
  double lower = 0;
  for (std::size_t bucket = 0; bucket < kBuckets; ++bucket) {
    const double upper = upper_ms(bucket);
    while (at + 1 < kHeatBuckets && (lower + upper) / 2 > bound) {
      ++at;
      bound *= kHeatGrowth;
    }
    heat[at] += counts_[bucket];
    lower = upper;
  }
  return heat;
}

LatencyCounts& LatencyCounts::operator+=(const LatencyCounts& more) {
  for (std::size_t i = 0; i < kBuckets; ++i) counts_[i] += more.counts_[i];
  return *this;
}

LatencyCounts& LatencyCounts::operator-=(const LatencyCounts& part) {
  for (std::size_t i = 0; i < kBuckets; ++i) counts_[i] -= std::min(counts_[i], part.counts_[i]);
  return *this;
}

std::int64_t LatencyWindow::half_of(TimePoint now) {
  return seconds_of(now) / kHalfSeconds;
}

const LatencyCounts* LatencyWindow::half(std::int64_t number) const {
  const auto at = static_cast<std::size_t>(number & 1);
  return half_[at] == number ? &halves_[at] : nullptr;
}

void LatencyWindow::record(Duration took, TimePoint now) {
  const std::int64_t second = seconds_of(now);
  const std::int64_t half = half_of(now);
  const auto at = static_cast<std::size_t>(half & 1);
  if (half_[at] != half) {
    half_[at] = half;
    halves_[at] = {};
  }
  halves_[at].record(took);
  const auto parity = static_cast<std::size_t>(second & 1);
  if (second_[parity] != second) {
    second_[parity] = second;
    per_second_[parity] = 0;
  }
  ++per_second_[parity];
}

LatencyCounts LatencyWindow::recent(TimePoint now) const {
  LatencyCounts all;
  const std::int64_t present = half_of(now);
  for (std::size_t at = 0; at < 2; ++at) {
    if (present - half_[at] <= 1) all += halves_[at];
  }
  return all;
}

double LatencyWindow::rate(TimePoint now) const {
  const std::int64_t before = seconds_of(now) - 1;
  const auto parity = static_cast<std::size_t>(before & 1);
  return second_[parity] == before ? static_cast<double>(per_second_[parity]) : 0;
}

LatencyCounts LatencyMark::take(const LatencyWindow& window, TimePoint now) {
  const std::int64_t present = LatencyWindow::half_of(now);
  LatencyCounts news;
  for (const std::int64_t number : {present - 1, present}) {
    const LatencyCounts* const counts = window.half(number);
    if (counts == nullptr || (marked_ && number < half_)) continue;
    news += *counts;
    if (marked_ && number == half_) news -= before_;
  }
  marked_ = true;
  half_ = present;
  const LatencyCounts* const counts = window.half(present);
  before_ = counts == nullptr ? LatencyCounts{} : *counts;
  return news;
}

}  // namespace sluice::autoscaler
