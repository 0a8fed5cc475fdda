#pragma once

#include "memory-pressure/core/resident.h"
#include "memory-pressure/core/threshold.h"
#include <cstdint>
#include <string>

namespace sluice::node_agent {

/// What one look at the node amounts to. Bytes; shares are of capacity.
struct Situation {
  TimePoint now;  ///< the policy's own
  std::int64_t capacity = 0;
  std::int64_t used = 0;
  std::int64_t free = 0;      ///< capacity - reserve - used; negative when the reserve is eaten
  std::int64_t possible = 0;  ///< growth of all containers within the horizon
  double growth = 0;          ///< bytes per second
  double usage = 0;
  double upper = 0;   ///< U_eff
  bool safe = true;   ///< a * possible <= free
  bool over = false;  ///< usage > upper
  bool stalling = false;
  bool critical = false;  ///< the emergency path
  bool spared = false;    ///< others are held first

  /// Whether a container has to be slowed down.
  bool trouble = false;
};

[[nodiscard]] Situation assess(const NodeMemory& memory, const Residents& residents,
                               const Threshold& threshold, const PolicySettings& settings,
                               TimePoint now);

/// Whether `possible` growth fits into `free` (memory-pressure.md 5.3).
[[nodiscard]] bool fits(std::int64_t possible, std::int64_t free, const PolicySettings& settings);

/// Draws the conclusions again: after what is possible has changed.
void judge(Situation& situation, const PolicySettings& settings);

/// The numbers on one line, for people.
[[nodiscard]] std::string in_words(const Situation& situation);

}  // namespace sluice::node_agent
