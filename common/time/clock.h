#pragma once

#include "common/time/time_point.h"

namespace sluice {

/// The clock of a program: wall time at its making, carried on by the monotonic clock, so that it
/// never steps back. An NTP step of the machine is therefore not followed; the process is the unit
/// whose intervals must be right.
class Clock {
 public:
  Clock();

  [[nodiscard]] TimePoint now() const;

 private:
  TimePoint wall_start_;
  std::chrono::steady_clock::time_point steady_start_;
};

}  // namespace sluice
