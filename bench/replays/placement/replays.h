#pragma once

#include "bench/replays/placement/report.h"

#include <cstdint>

namespace sluice::replay {

struct Options {
  std::uint64_t seed = 1;
  bool quick = false;  ///< fewer batches
};

/// Utilisation with and without preference.
[[nodiscard]] Report run_utilisation(const Options& options);

/// Rejected applications.
[[nodiscard]] Report run_rejections(const Options& options);

/// Time by the number of services that move.
[[nodiscard]] Report run_move_times(const Options& options);

}  // namespace sluice::replay
