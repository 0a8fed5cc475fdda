#include "load/core/service_times.h"

#include "common/base/check.h"

#include <algorithm>

namespace sluice::loadgen {

void ServiceTimes::add(double share, Duration longest) {
  if (!points_.empty()) longest = std::max(longest, points_.back().longest);
  points_.push_back({share, longest});
}

Duration ServiceTimes::at(double share) const {
  CHECK(!points_.empty());
  const auto after = std::find_if(points_.begin(), points_.end(),
                                  [share](const Point& point) { return point.share >= share; });
  if (after == points_.end()) return points_.back().longest;
  if (after == points_.begin() || after->share == share) return after->longest;
  const Point& before = *std::prev(after);
  const double part = (share - before.share) / (after->share - before.share);
  const double more = static_cast<double>((after->longest - before.longest).count()) * part;
  return before.longest + Duration{static_cast<std::int64_t>(more)};
}

}  // namespace sluice::loadgen
