#pragma once

#include "common/time/time_point.h"

#include <optional>

namespace sluice::placement {

/// How much time has passed since the first look at the clock. A clock that steps back takes
/// nothing of it, so that no limit is reached early and none is prolonged by more than the step.
class Elapsed {
 public:
  [[nodiscard]] Duration at(TimePoint now) {
    if (last_ && now > *last_) passed_ += now - *last_;
    last_ = now;
    return passed_;
  }

 private:
  std::optional<TimePoint> last_;
  Duration passed_{0};
};

}  // namespace sluice::placement
