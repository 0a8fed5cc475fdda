#pragma once

#include "common/time/time_point.h"

#include <algorithm>
#include <optional>

namespace sluice::node_agent {

/// Time that only moves forward, made from one that may step: a step back counts as nothing, a leap
/// as `longest`. What a rule keeps ("paused since") is kept in this time, so that no jump of a
/// clock ends or prolongs a pause (memory-pressure.md 9, row 46).
class OwnTime {
 public:
  explicit OwnTime(Duration longest) : longest_(longest) {}

  TimePoint advance(TimePoint now) {
    if (last_) now_ += std::clamp(now - *last_, Duration::zero(), longest_);
    last_ = now;
    return now_;
  }

 private:
  Duration longest_;
  std::optional<TimePoint> last_;
  // Any beginning will do that leaves room for "long ago" on both sides.
  TimePoint now_{std::chrono::hours{24 * 365}};
};

}  // namespace sluice::node_agent
