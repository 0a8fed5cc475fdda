#include "programs/sluice/engine/latency.h"

#include <algorithm>
#include <bit>

namespace sluice::local {
namespace {

constexpr std::int64_t kHalfSeconds = 30;

std::int64_t seconds_of(TimePoint now) {
  return std::chrono::duration_cast<std::chrono::seconds>(now.time_since_epoch()).count();
}

}  // namespace

// Microseconds as exponent and three bits of mantissa.
std::size_t LatencyWindow::bucket_of(Duration took) {
  const auto micros = static_cast<std::uint64_t>(std::max<std::int64_t>(
      0, std::chrono::duration_cast<std::chrono::microseconds>(took).count()));
  if (micros < 8) return static_cast<std::size_t>(micros);
  const auto exponent = static_cast<std::size_t>(std::bit_width(micros)) - 4U;
  return std::min(kBuckets - 1,
                  (exponent + 1) * 8 + static_cast<std::size_t>((micros >> exponent) & 7U));
}

double LatencyWindow::upper_ms(std::size_t bucket) {
  if (bucket < 8) return static_cast<double>(bucket + 1) / 1000;
  const std::size_t exponent = bucket / 8 - 1;
  return static_cast<double>((8 + bucket % 8 + 1) * (std::uint64_t{1} << exponent)) / 1000;
}

void LatencyWindow::record(Duration took, TimePoint now) {
  const std::int64_t second = seconds_of(now);
  const std::int64_t half = second / kHalfSeconds;
  const auto at = static_cast<std::size_t>(half % 2);
  if (half_[at] != half) {
    half_[at] = half;
    halves_[at].fill(0);
  }
  ++halves_[at][bucket_of(took)];
  const auto parity = static_cast<std::size_t>(second % 2);
  if (second_[parity] != second) {
    second_[parity] = second;
    per_second_[parity] = 0;
  }
  ++per_second_[parity];
}

double LatencyWindow::quantile_ms(double quantile, TimePoint now) const {
  const std::int64_t half = seconds_of(now) / kHalfSeconds;
  std::uint64_t total = 0;
  const auto count = [&](std::size_t bucket) {
    std::uint64_t sum = 0;
    for (std::size_t at = 0; at < 2; ++at) {
      if (half - half_[at] <= 1) sum += halves_[at][bucket];
    }
    return sum;
  };
  for (std::size_t bucket = 0; bucket < kBuckets; ++bucket) total += count(bucket);
  if (total == 0) return 0;
  const double wanted = quantile * static_cast<double>(total);
  std::uint64_t seen = 0;
  for (std::size_t bucket = 0; bucket < kBuckets; ++bucket) {
    seen += count(bucket);
    if (static_cast<double>(seen) >= wanted && seen > 0) return upper_ms(bucket);
  }
  return upper_ms(kBuckets - 1);
}

double LatencyWindow::rate(TimePoint now) const {
  const std::int64_t before = seconds_of(now) - 1;
  const auto parity = static_cast<std::size_t>(before % 2);
  return second_[parity] == before ? static_cast<double>(per_second_[parity]) : 0;
}

}  // namespace sluice::local
