#include "load/core/histogram.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace sluice::loadgen {

// Values below 2048 have a bucket each. Above, every doubling has 1024 buckets of equal width, so a
// bucket is never wider than 1/1024 of its lower edge.
namespace {

constexpr unsigned kPrecisionBits = 10;
constexpr std::uint64_t kHalf = 1U << kPrecisionBits;
constexpr std::size_t kChunk = 256;

std::size_t bucket_of(std::uint64_t value) {
  const auto width = static_cast<unsigned>(std::bit_width(value));
  const unsigned shift = width > kPrecisionBits + 1 ? width - kPrecisionBits - 1 : 0;
  return static_cast<std::size_t>(shift * kHalf + (value >> shift));
}

// The largest value that falls into `bucket`.
std::uint64_t upper_edge(std::size_t bucket) {
  if (bucket < 2 * kHalf) return bucket;
  const std::uint64_t shift = bucket / kHalf - 1;
  const std::uint64_t mantissa = bucket - shift * kHalf;
  return ((mantissa + 1) << shift) - 1;
}

}  // namespace

Histogram::Histogram()
    : chunks_(bucket_of(static_cast<std::uint64_t>(kLongest.count())) / kChunk + 1) {}

void Histogram::record(Duration value, std::uint64_t times) {
  if (times == 0) return;
  const Duration kept = std::clamp(value, Duration::zero(), kLongest);
  const std::size_t bucket = bucket_of(static_cast<std::uint64_t>(kept.count()));
  std::vector<std::uint64_t>& chunk = chunks_[bucket / kChunk];
  if (chunk.empty()) chunk.resize(kChunk);
  chunk[bucket % kChunk] += times;
  count_ += times;
  sum_ += static_cast<double>(kept.count()) * static_cast<double>(times);
  min_ = std::min(min_, kept);
  max_ = std::max(max_, kept);
}

void Histogram::add(const Histogram& other) {
  for (std::size_t i = 0; i < chunks_.size(); ++i) {
    const std::vector<std::uint64_t>& from = other.chunks_[i];
    if (from.empty()) continue;
    chunks_[i].resize(kChunk);
    for (std::size_t j = 0; j < kChunk; ++j) chunks_[i][j] += from[j];
  }
  count_ += other.count_;
  sum_ += other.sum_;
  min_ = std::min(min_, other.min_);
  max_ = std::max(max_, other.max_);
}

Duration Histogram::mean() const {
  if (count_ == 0) return Duration::zero();
  return Duration{static_cast<std::int64_t>(sum_ / static_cast<double>(count_))};
}

Duration Histogram::percentile(double percent) const {
  if (count_ == 0) return Duration::zero();
  const double wanted = std::ceil(percent / 100.0 * static_cast<double>(count_) - 1e-9);
  const auto rank =
      static_cast<std::uint64_t>(std::clamp(wanted, 1.0, static_cast<double>(count_)));
  std::uint64_t seen = 0;
  for (std::size_t i = 0; i < chunks_.size(); ++i) {
    for (std::size_t j = 0; j < chunks_[i].size(); ++j) {
      seen += chunks_[i][j];
      if (seen < rank) continue;
      const auto edge = static_cast<std::int64_t>(upper_edge(i * kChunk + j));
      return std::min(Duration{edge}, max_);
    }
  }
  return max_;
}

std::vector<std::pair<std::uint32_t, std::uint64_t>> Histogram::buckets() const {
  std::vector<std::pair<std::uint32_t, std::uint64_t>> out;
  for (std::size_t i = 0; i < chunks_.size(); ++i) {
    for (std::size_t j = 0; j < chunks_[i].size(); ++j) {
      const auto bucket = static_cast<std::uint32_t>(i * kChunk + j);
      if (chunks_[i][j] > 0) out.emplace_back(bucket, chunks_[i][j]);
    }
  }
  return out;
}

Duration Histogram::upper_edge_of(std::uint32_t bucket) {
  return Duration{static_cast<std::int64_t>(upper_edge(bucket))};
}

std::uint64_t Histogram::count_to(Duration value) const {
  if (value < Duration::zero()) return 0;
  const Duration kept = std::min(value, kLongest);
  const std::size_t last = bucket_of(static_cast<std::uint64_t>(kept.count()));
  std::uint64_t count = 0;
  for (std::size_t i = 0; i <= last / kChunk; ++i) {
    const std::size_t end = i < last / kChunk ? kChunk : last % kChunk + 1;
    for (std::size_t j = 0; j < std::min(end, chunks_[i].size()); ++j) count += chunks_[i][j];
  }
  return count;
}

}  // namespace sluice::loadgen
