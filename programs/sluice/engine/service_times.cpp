#include "programs/sluice/engine/service_times.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace sluice::local {
namespace {

using autoscaler::LatencyCounts;

constexpr Duration kSecond = std::chrono::seconds{1};
constexpr Duration kTenth = std::chrono::milliseconds{100};

std::vector<std::pair<Duration, std::uint32_t>> counted(const LatencyCounts& counts) {
  std::vector<std::pair<Duration, std::uint32_t>> list;
  for (std::size_t bucket = 0; bucket < LatencyCounts::kBuckets; ++bucket) {
    if (const std::uint32_t count = counts.in(bucket); count > 0) {
      list.emplace_back(from_seconds(LatencyCounts::upper_ms(bucket) / 1e3), count);
    }
  }
  return list;
}

}  // namespace

void ServiceTimes::served(TimePoint arrived, Duration took, Duration waited) {
  if (!counts_) counts_ = std::make_unique<Counts>();
  counts_->took.record(took);
  counts_->took_total += took;
  if (waited > Duration{0}) counts_->waited.record(waited);
  ++ended_;
  if (arrived < since_) return;
  // Looks are made at whole seconds.
  const auto tenth = static_cast<std::size_t>((arrived.time_since_epoch() % kSecond) / kTenth);
  ++counts_->tenths[tenth];
}

autoscaler::TrafficNote ServiceTimes::take(TimePoint now, std::int64_t held,
                                           std::int64_t in_flight) {
  autoscaler::TrafficNote note{.at = now, .held = held, .in_flight = in_flight};
  const std::int64_t ended = std::exchange(ended_, 0);
  const std::int64_t before = std::exchange(present_, held + in_flight);
  since_ = now;
  note.arrivals = std::max<std::int64_t>(0, ended + present_ - before);
  if (ended == 0 || !counts_) return note;
  note.service = counted(counts_->took);
  note.service_total = counts_->took_total;
  note.waited = counted(counts_->waited);
  note.tenths = counts_->tenths;
  *counts_ = {};
  return note;
}

}  // namespace sluice::local
