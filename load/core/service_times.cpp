#include "load/core/service_times.h"

#include "common/base/check.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

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

Duration ServiceTimes::mean() const {
  CHECK(!points_.empty());
  double sum = points_.front().share * static_cast<double>(points_.front().longest.count());
  for (std::size_t i = 1; i < points_.size(); ++i) {
    const Point& from = points_[i - 1];
    const Point& to = points_[i];
    sum += (to.share - from.share) * static_cast<double>((from.longest + to.longest).count()) / 2;
  }
  sum += (1 - points_.back().share) * static_cast<double>(points_.back().longest.count());
  return Duration{static_cast<std::int64_t>(sum)};
}

void ServiceTimes::scale_to(Duration mean) {
  const Duration before = this->mean();
  if (before <= Duration{0}) return;
  const double factor = static_cast<double>(mean.count()) / static_cast<double>(before.count());
  for (Point& point : points_) {
    point.longest =
        Duration{static_cast<std::int64_t>(static_cast<double>(point.longest.count()) * factor)};
  }
}

}  // namespace sluice::loadgen
