#include "common/time/clock.h"

namespace sluice {

Clock::Clock()
    : wall_start_{std::chrono::time_point_cast<Duration>(std::chrono::system_clock::now())},
      steady_start_{std::chrono::steady_clock::now()} {}

TimePoint Clock::now() const {
  return wall_start_ + (std::chrono::steady_clock::now() - steady_start_);
}

}  // namespace sluice
