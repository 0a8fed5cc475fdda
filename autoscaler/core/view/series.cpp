#include "autoscaler/core/view/series.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <span>
#include <utility>

namespace sluice::autoscaler {
namespace {

constexpr std::int64_t kTenSeconds = 10;
constexpr std::int64_t kSparkStep = 5;
// Of a ring of seconds, as a share of what a series may have: it holds an eighth of all points.
constexpr std::size_t kSecondsShare = 6;
// However many series there are, one keeps some minutes.
constexpr std::size_t kBytesLeastEach = 8U << 10U;
// A block goes as a whole: small against the ring, and large against what it costs by itself.
constexpr std::int64_t kBlockPoints = 60;
constexpr std::size_t kPresenceBytes = 5;  // one bit for each figure and bucket

constexpr std::uint16_t kUnknown = 0xFFFF;
constexpr std::uint32_t kLeastBits = (127U - 20U) << 23U;  // 2^-20
constexpr std::uint32_t kDroppedBits = 13;

// The exponent from 2^-20 on and ten bits of mantissa.
std::uint16_t packed(float value) {
  if (std::isnan(value)) return kUnknown;
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value) + (1U << (kDroppedBits - 1));
  if (!(value > 0) || bits < kLeastBits) return 0;
  return static_cast<std::uint16_t>(
      std::min<std::uint32_t>((bits - kLeastBits) >> kDroppedBits, kUnknown - 1U));
}

float unpacked(std::uint16_t code) {
  if (code == 0) return 0;
  if (code == kUnknown) return std::numeric_limits<float>::quiet_NaN();
  return std::bit_cast<float>((std::uint32_t{code} << kDroppedBits) + kLeastBits);
}

// Exact below 32, then an exponent and four bits of mantissa.
std::uint8_t packed_count(std::uint32_t count) {
  if (count < 32) return static_cast<std::uint8_t>(count);
  const auto shift = static_cast<std::uint32_t>(std::bit_width(count)) - 5U;
  return static_cast<std::uint8_t>(std::min<std::uint32_t>(shift * 16 + (count >> shift), 255));
}

std::uint32_t unpacked_count(std::uint8_t code) {
  if (code < 32) return code;
  const std::uint32_t shift = (code >> 4U) - 1U;
  return (16U + (code & 15U)) << shift;
}

void pack(const SeriesPoint& point, std::vector<std::uint8_t>& out) {
  std::uint64_t present = 0;
  const std::size_t begin = out.size();
  out.resize(begin + kPresenceBytes);
  for (std::size_t i = 0; i < kFigures; ++i) {
    const std::uint16_t code = packed(point.figures[i]);
    if (code == 0) continue;
    present |= std::uint64_t{1} << i;
    out.push_back(static_cast<std::uint8_t>(code & 0xFFU));
    out.push_back(static_cast<std::uint8_t>(code >> 8U));
  }
  for (std::size_t i = 0; i < kHeatBuckets; ++i) {
    if (point.latency[i] == 0) continue;
    present |= std::uint64_t{1} << (kFigures + i);
    out.push_back(packed_count(point.latency[i]));
  }
  for (std::size_t i = 0; i < kPresenceBytes; ++i) {
    out[begin + i] = static_cast<std::uint8_t>((present >> (8 * i)) & 0xFFU);
  }
}

// Takes one point off the front of `in`.
SeriesPoint unpack(std::span<const std::uint8_t>& in) {
  SeriesPoint point;
  std::uint64_t present = 0;
  std::size_t at = 0;
  for (; at < kPresenceBytes; ++at) present |= std::uint64_t{in[at]} << (8 * at);
  for (std::size_t i = 0; i < kFigures; ++i) {
    if ((present >> i & 1U) == 0) continue;
    point.figures[i] = unpacked(static_cast<std::uint16_t>(in[at] | in[at + 1] << 8));
    at += 2;
  }
  for (std::size_t i = 0; i < kHeatBuckets; ++i) {
    if ((present >> (kFigures + i) & 1U) != 0) point.latency[i] = unpacked_count(in[at++]);
  }
  in = in.subspan(at);
  return point;
}

// What is not known does not hide what is.
float most(float left, float right) {
  return std::isnan(left) || right > left ? right : left;
}

std::int64_t floored(std::int64_t value, std::int64_t step) {
  return value / step * step;
}

}  // namespace

void PointMerge::add(const SeriesPoint& point) {
  const SeriesPoint before = std::exchange(merged_, point);
  ++points_;
  double requests = 0;
  for (std::size_t i = 0; i < kHeatBuckets; ++i) {
    requests += point.latency[i];
    merged_.latency[i] += before.latency[i];
  }
  requests_ += requests;
  rate_sum_ += static_cast<double>(point[Figure::rps]);
  if (requests > 0) median_sum_ += requests * static_cast<double>(point[Figure::p50_ms]);
  if (points_ == 1) return;
  for (const Figure figure : {Figure::errors, Figure::refused}) {
    merged_[figure] = before[figure] + point[figure];
  }
  for (const Figure figure : {Figure::queued, Figure::in_flight, Figure::p99_ms}) {
    merged_[figure] = most(before[figure], point[figure]);
  }
  merged_[Figure::rps] = static_cast<float>(rate_sum_ / static_cast<double>(points_));
  if (requests_ > 0) merged_[Figure::p50_ms] = static_cast<float>(median_sum_ / requests_);
}

std::optional<SeriesPoint> PointMerge::result() const {
  return points_ > 0 ? std::optional{merged_} : std::nullopt;
}

void PointRing::drop_oldest() {
  bytes_ -= blocks_.front().bytes();
  blocks_.pop_front();
}

void PointRing::add(std::int64_t index, const SeriesPoint& point, std::size_t bytes_max) {
  if (!blocks_.empty()) {
    const std::int64_t next = blocks_.back().first + blocks_.back().points;
    if (index == next - 1) return;
    while (index < next && !blocks_.empty()) drop_oldest();
  }
  if (blocks_.empty() || blocks_.back().points >= kBlockPoints ||
      index != blocks_.back().first + blocks_.back().points) {
    if (!blocks_.empty()) {
      Block& full = blocks_.back();
      bytes_ -= full.bytes();
      full.packed.shrink_to_fit();
      bytes_ += full.bytes();
    }
    blocks_.push_back({.first = index, .points = 0, .packed = {}});
    bytes_ += blocks_.back().bytes();
  }
  Block& block = blocks_.back();
  bytes_ -= block.bytes();
  pack(point, block.packed);
  ++block.points;
  bytes_ += block.bytes();
  while (blocks_.size() > 1 &&
         (blocks_.front().first + blocks_.front().points <= index + 1 - points_max_ ||
          bytes_ > bytes_max)) {
    drop_oldest();
  }
}

std::vector<std::optional<SeriesPoint>> PointRing::read(std::int64_t from, std::int64_t to) const {
  std::vector<std::optional<SeriesPoint>> rows(
      static_cast<std::size_t>(std::max<std::int64_t>(0, to - from)));
  for (const Block& block : blocks_) {
    if (block.first + block.points <= from || block.first >= to) continue;
    std::span<const std::uint8_t> rest{block.packed};
    for (std::int64_t i = block.first; i < block.first + block.points; ++i) {
      const SeriesPoint point = unpack(rest);
      if (i >= from && i < to) rows[static_cast<std::size_t>(i - from)] = point;
    }
  }
  return rows;
}

const SeriesBook::Entry* SeriesBook::find(const RevisionId& id) const {
  const auto found = by_id_.find(id);
  return found == by_id_.end() ? nullptr : &*found->second;
}

void SeriesBook::add(const RevisionId& id, std::int64_t second, const SeriesPoint& point) {
  const auto found = by_id_.find(id);
  if (found == by_id_.end()) {
    entries_.push_front({.id = id});
    by_id_.emplace(id, entries_.begin());
  } else {
    bytes_ -= found->second->bytes();
    entries_.splice(entries_.begin(), entries_, found->second);
  }
  Entry& entry = entries_.front();
  const std::size_t most_each =
      std::clamp(bytes_max_ / entries_.size(), kBytesLeastEach, kBytesMaxEach) - sizeof(Entry);
  entry.seconds.add(second, point, most_each / kSecondsShare);
  const std::int64_t ten = second / kTenSeconds;
  if (ten != entry.ten_index) {
    const auto whole = std::exchange(entry.ten, {}).result();
    if (whole) entry.tens.add(entry.ten_index, *whole, most_each - most_each / kSecondsShare);
    entry.ten_index = ten;
  }
  entry.ten.add(point);
  bytes_ += entry.bytes();
  while (bytes_ > bytes_max_ && entries_.size() > 1) forget(RevisionId{entries_.back().id});
}

void SeriesBook::forget(const RevisionId& id) {
  const auto found = by_id_.find(id);
  if (found == by_id_.end()) return;
  bytes_ -= found->second->bytes();
  entries_.erase(found->second);
  by_id_.erase(found);
}

SeriesRange SeriesBook::whole_steps(std::int64_t from, std::int64_t to, std::int64_t step_s) {
  const std::int64_t unit = step_s < kTenSeconds && to - from <= kSeconds ? 1 : kTenSeconds;
  const std::int64_t step = (step_s + unit - 1) / unit * unit;
  return {.from = floored(from, step), .to = floored(to, step), .step_s = step};
}

SeriesSlice SeriesBook::read(const RevisionId& id, std::int64_t from, std::int64_t to,
                             std::int64_t step_s) const {
  const SeriesRange range = whole_steps(from, to, step_s);
  const bool of_seconds = range.step_s < kTenSeconds;
  const std::int64_t unit = of_seconds ? 1 : kTenSeconds;
  SeriesSlice slice{.start_s = range.from, .step_s = range.step_s};
  const Entry* const entry = find(id);
  if (entry == nullptr || range.to <= range.from) return slice;
  const PointRing& ring = of_seconds ? entry->seconds : entry->tens;
  const auto points = ring.read(range.from / unit, range.to / unit);
  const auto group = static_cast<std::size_t>(range.step_s / unit);
  for (std::size_t i = 0; i < points.size(); i += group) {
    PointMerge merge;
    for (std::size_t k = i; k < std::min(points.size(), i + group); ++k) {
      if (points[k]) merge.add(*points[k]);
    }
    slice.rows.push_back(merge.result());
  }
  return slice;
}

std::array<float, SeriesBook::kSparkPoints> SeriesBook::spark(const RevisionId& id, std::int64_t to,
                                                              Figure figure) const {
  std::array<float, kSparkPoints> points{};
  points.fill(std::numeric_limits<float>::quiet_NaN());
  const std::int64_t end = floored(to, kSparkStep);
  const SeriesSlice slice = read(id, end - kSeconds, end, kSparkStep);
  for (std::size_t i = 0; i < std::min(slice.rows.size(), points.size()); ++i) {
    if (slice.rows[i]) points[i] = (*slice.rows[i])[figure];
  }
  return points;
}

}  // namespace sluice::autoscaler
