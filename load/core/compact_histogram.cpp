#include "load/core/compact_histogram.h"

#include "common/values/whole_number.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace sluice::loadgen {

namespace {

constexpr unsigned kHalfBits = 7;
constexpr std::uint64_t kHalf = 1U << kHalfBits;
constexpr std::size_t kTextBytesMax = 64U << 10U;

std::uint32_t index_of(std::uint64_t us) {
  const auto width = static_cast<unsigned>(std::bit_width(us));
  const unsigned shift = width > kHalfBits + 1 ? width - kHalfBits - 1 : 0;
  return static_cast<std::uint32_t>(shift * kHalf + (us >> shift));
}

std::uint64_t microseconds_of(Duration value) {
  const Duration kept = std::clamp(value, Duration::zero(), CompactHistogram::kLongest);
  return static_cast<std::uint64_t>((kept.count() + 999) / 1000);
}

}  // namespace

Duration CompactHistogram::upper_edge(std::uint32_t index) {
  if (index < 2 * kHalf) return std::chrono::microseconds{index};
  const std::uint64_t shift = index / kHalf - 1;
  const std::uint64_t mantissa = index - shift * kHalf;
  return std::chrono::microseconds{((mantissa + 1) << shift) - 1};
}

void CompactHistogram::record(Duration value) {
  count(index_of(microseconds_of(value)), 1);
}

void CompactHistogram::count(std::uint32_t index, std::uint32_t times) {
  count_ += times;
  const auto place = std::lower_bound(
      buckets_.begin(), buckets_.end(), index,
      [](const Bucket& bucket, std::uint32_t wanted) { return bucket.index < wanted; });
  if (place == buckets_.end() || place->index != index) {
    buckets_.insert(place, {index, times});
  } else {
    place->count += times;
  }
}

void CompactHistogram::add(const CompactHistogram& other) {
  std::vector<Bucket> joined;
  joined.reserve(std::max(buckets_.size(), other.buckets_.size()));
  auto theirs = other.buckets_.begin();
  for (const Bucket& ours : buckets_) {
    while (theirs != other.buckets_.end() && theirs->index < ours.index)
      joined.push_back(*theirs++);
    joined.push_back(ours);
    if (theirs != other.buckets_.end() && theirs->index == ours.index) {
      joined.back().count += (theirs++)->count;
    }
  }
  joined.insert(joined.end(), theirs, other.buckets_.end());
  buckets_ = std::move(joined);
  count_ += other.count_;
}

Duration CompactHistogram::percentile(double percent) const {
  const double wanted = std::ceil(percent / 100.0 * static_cast<double>(count_) - 1e-9);
  std::uint64_t seen = 0;
  for (const Bucket& bucket : buckets_) {
    seen += bucket.count;
    if (static_cast<double>(seen) >= std::max(wanted, 1.0)) return upper_edge(bucket.index);
  }
  return Duration::zero();
}

std::string CompactHistogram::text() const {
  std::string out;
  std::uint32_t last = 0;
  for (const Bucket& bucket : buckets_) {
    if (!out.empty()) out += ' ';
    out += std::to_string(bucket.index - last);
    if (bucket.count != 1) out.append("x").append(std::to_string(bucket.count));
    last = bucket.index;
  }
  return out;
}

Result<CompactHistogram, Problem> CompactHistogram::parse(std::string_view text) {
  const auto bad = [](const std::string& what) {
    return Problem{"not a histogram of a report: " + what, "give the report as it was written"};
  };
  if (text.size() > kTextBytesMax) return bad("longer than 64 KiB");
  constexpr std::uint32_t kCountMax = std::numeric_limits<std::uint32_t>::max();
  const std::uint32_t index_max = index_of(microseconds_of(kLongest));
  CompactHistogram out;
  std::uint32_t index = 0;
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(word.size() + 1, text.size()));
    const std::size_t sign = word.find('x');
    const auto step = whole_number<std::uint32_t>(word.substr(0, sign), 0, index_max - index);
    const auto times = sign == std::string_view::npos
                           ? std::optional<std::uint32_t>{1}
                           : whole_number<std::uint32_t>(word.substr(sign + 1), 1, kCountMax);
    if (!step || !times || (*step == 0 && !out.buckets_.empty())) {
      return bad("'" + std::string{word.substr(0, 40)} + "'");
    }
    index += *step;
    out.buckets_.push_back({index, *times});
    out.count_ += *times;
  }
  return out;
}

}  // namespace sluice::loadgen
