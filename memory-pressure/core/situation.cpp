#include "memory-pressure/core/situation.h"

#include <array>
#include <cstdio>

namespace sluice::node_agent {

bool fits(std::int64_t possible, std::int64_t free, const PolicySettings& settings) {
  return settings.overcommit_factor * static_cast<double>(possible) <= static_cast<double>(free);
}

Situation assess(const NodeMemory& memory, const Residents& residents, const Threshold& threshold,
                 const PolicySettings& settings, TimePoint now) {
  Situation found{.now = now, .capacity = memory.capacity, .used = memory.used};
  found.free = memory.capacity - settings.reserve - memory.used;
  for (const auto& [id, resident] : residents.all()) {
    found.possible +=
        possible_growth(resident, quota_in_force(resident), memory.capacity, settings, now);
  }
  found.growth = residents.growth();
  if (memory.capacity > 0) {
    found.usage = static_cast<double>(memory.used) / static_cast<double>(memory.capacity);
  }
  found.upper = threshold.upper();
  found.stalling = threshold.is_stalling();
  judge(found, settings);
  return found;
}

void judge(Situation& situation, const PolicySettings& settings) {
  situation.safe = fits(situation.possible, situation.free, settings);
  situation.over = situation.usage > situation.upper;
  situation.critical = situation.usage > settings.critical;
  const bool unsafe = !situation.safe && situation.usage > settings.concern;
  situation.trouble = !situation.spared && (unsafe || situation.over || situation.stalling);
}

std::string in_words(const Situation& situation) {
  constexpr double kMiB = 1 << 20;
  std::array<char, 256> text{};
  std::snprintf(text.data(), text.size(),
                "usage %.1f%% of %.0f MiB, upper %.1f%%, growing %.1f MiB/s, could grow %.0f MiB, "
                "free %.0f MiB: %s%s",
                situation.usage * 100, static_cast<double>(situation.capacity) / kMiB,
                situation.upper * 100, situation.growth / kMiB,
                static_cast<double>(situation.possible) / kMiB,
                static_cast<double>(situation.free) / kMiB, situation.safe ? "safe" : "unsafe",
                situation.over ? ", over" : "");
  return text.data();
}

}  // namespace sluice::node_agent
