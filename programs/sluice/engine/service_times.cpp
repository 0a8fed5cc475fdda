#include "programs/sluice/engine/service_times.h"

#include <algorithm>
#include <utility>

namespace sluice::local {

autoscaler::TrafficNote ServiceTimes::take(TimePoint now, std::int64_t held,
                                           std::int64_t in_flight) {
  autoscaler::TrafficNote note{.at = now, .held = held, .in_flight = in_flight};
  const std::int64_t ended = std::exchange(ended_, 0);
  const std::int64_t before = std::exchange(present_, held + in_flight);
  note.arrivals = std::max<std::int64_t>(0, ended + present_ - before);
  if (ended == 0) return note;
  const autoscaler::LatencyCounts counts = std::exchange(counts_, {});
  for (std::size_t bucket = 0; bucket < autoscaler::LatencyCounts::kBuckets; ++bucket) {
    if (const std::uint32_t count = counts.in(bucket); count > 0) {
      note.service.emplace_back(from_seconds(autoscaler::LatencyCounts::upper_ms(bucket) / 1e3),
                                count);
    }
  }
  return note;
}

}  // namespace sluice::local
