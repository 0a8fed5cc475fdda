#pragma once

#include "common/time/time_point.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

namespace sluice::node_agent {

/// Longer names cannot be written down in one line, and no runtime gives them.
inline constexpr std::size_t kIdMax = 256;

struct ReconcilerSettings {
  std::string boot_id;
  bool dry_run = false;  ///< decide, show, touch nothing, write nothing
  Duration call_deadline = std::chrono::seconds{2};
  std::size_t updates_per_tick = 20;  ///< row 61: what follows waits for the next tick
  Duration backoff_min = std::chrono::milliseconds{100};
  Duration backoff_max = std::chrono::seconds{5};
  /// How long a call that timed out is expected to take effect after all.
  Duration late_for = std::chrono::seconds{10};
  double lower = 1;  ///< share of capacity above which those that are thawed wake one by one
  std::uint32_t refusals_max = 3;  ///< of one throttle in a row, then it is given up

  /// Before the next try, after so many failures before the last one.
  [[nodiscard]] Duration pause_after(std::uint32_t failures) const {
    constexpr std::uint32_t kDoublingsMax = 10;
    return std::min(backoff_min * (std::int64_t{1} << std::min(failures, kDoublingsMax)),
                    backoff_max);
  }
};

/// What the records and calls of a reconciler are numbered with.
struct Numbers {
  std::uint64_t call = 0;
  std::uint64_t generation = 0;
};

}  // namespace sluice::node_agent
