#pragma once

#include "load/core/comparison.h"
#include <cstdint>
#include <random>
#include <vector>

namespace sluice::loadgen {

/// How a made service answers.
struct MadeService {
  double median_ms = 10;
  double spread = 0.5;    ///< of the logarithms of its latencies
  double slower_ms = 0;   ///< added to each answer of its slowest 5 %
  double error_rate = 0;  ///< 0 to 1
};

/// A run of so many seconds with independent requests, 200 in each second, as a reader of its
/// report sees it: latencies in cells of 1 %.
[[nodiscard]] ComparedRun made_run(const MadeService& service, std::mt19937_64& random,
                                   int seconds = 60);

}  // namespace sluice::loadgen
