#include "load/core/compact_histogram.h"

#include "common/values/whole_number.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace sluice::loadgen {

namespace {

constexpr std::size_t kTextBytesMax = 64U << 10U;

struct Layout {
  std::uint64_t unit;  // in nanoseconds
  unsigned half_bits;  // so many bits has the number of buckets in a doubling
};

Layout layout_of(CompactHistogram::Digits digits) {
  return digits == CompactHistogram::Digits::two ? Layout{1000, 7} : Layout{1, 10};
}

}  // namespace

std::uint32_t CompactHistogram::index_of(Duration value) const {
  const Layout layout = layout_of(digits_);
  const auto ns = static_cast<std::uint64_t>(std::clamp(value, Duration::zero(), kLongest).count());
  const std::uint64_t units = (ns + layout.unit - 1) / layout.unit;
  const auto width = static_cast<unsigned>(std::bit_width(units));
  const unsigned shift = width > layout.half_bits + 1 ? width - layout.half_bits - 1 : 0;
  return static_cast<std::uint32_t>((std::uint64_t{shift} << layout.half_bits) + (units >> shift));
}

Duration CompactHistogram::upper_edge(std::uint32_t index) const {
  const Layout layout = layout_of(digits_);
  const std::uint64_t half = std::uint64_t{1} << layout.half_bits;
  std::uint64_t units = index;
  if (index >= 2 * half) {
    const std::uint64_t shift = index / half - 1;
    units = ((index - shift * half + 1) << shift) - 1;
  }
  return Duration{static_cast<std::int64_t>(units * layout.unit)};
}

void CompactHistogram::record(Duration value) {
  count(index_of(value), 1);
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

CompactHistogram CompactHistogram::coarse() const {
  CompactHistogram out{Digits::two};
  for (const Bucket& bucket : buckets_) {
    out.count(out.index_of(upper_edge(bucket.index)), bucket.count);
  }
  return out;
}

CompactHistogram CompactHistogram::charted() const {
  constexpr std::uint32_t kHalf = 128;
  CompactHistogram out;
  for (const Bucket& bucket : buckets_) {
    // A quarter of the buckets of its doubling.
    const std::uint32_t width = std::max(std::min(kHalf, std::bit_floor(bucket.index)) / 4, 1U);
    const std::uint32_t index = bucket.index | (width - 1);
    if (out.buckets_.empty() || out.buckets_.back().index != index) out.buckets_.push_back({index});
    out.buckets_.back().count += bucket.count;
  }
  out.count_ = count_;
  return out;
}

std::string CompactHistogram::text() const {
  if (digits_ == Digits::three) return coarse().text();
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
  CompactHistogram out;
  const std::uint32_t index_max = out.index_of(kLongest);
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
