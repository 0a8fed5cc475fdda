#pragma once

#include "common/time/clock.h"

#include <functional>
#include <poll.h>

namespace sluice::local {

/// Polls until `holds` or 20 s have passed; `step` runs between two looks.
inline bool eventually(
    const std::function<bool()>& holds,
    const std::function<void()>& step = [] { ::poll(nullptr, 0, 2); }) {
  const Clock clock;
  const TimePoint deadline = clock.now() + std::chrono::seconds{20};
  while (!holds()) {
    if (clock.now() > deadline) return false;
    step();
  }
  return true;
}

}  // namespace sluice::local
