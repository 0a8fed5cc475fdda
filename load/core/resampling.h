#pragma once

#include "load/core/run_blocks.h"
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

// How much the figures of a run would differ in another run of the same kind is estimated from the
// run itself: from blocks of it, drawn with replacement (a block bootstrap), since requests that
// are close in time share their fate and are no independent observations. Two runs of one plan are
// drawn together, block by block: what the plan does to both, a ramp or a pause, is then no
// difference between them.
namespace sluice::loadgen {

/// What is compared of runs.
enum class Figure {
  p50,  ///< of latencies, in seconds, as are the next four
  p90,
  p99,
  p99_9,
  max,
  error_rate,       ///< 0 to 1 of the requests that fell due
  rate,             ///< requests sent in a second
  cold_start,       ///< the 95th percentile, in seconds
  replicas_max,     ///< most ready at once
  replica_seconds,  ///< the sum of the times that each was ready
  time_to_zero,     ///< seconds
};

inline constexpr std::size_t kFigures = 11;
/// So many of the first have an interval from one run.
inline constexpr std::size_t kResampledFigures = 7;

inline constexpr std::size_t kResamples = 1000;

/// How far the difference of two figures may be off.
struct Spread {
  double deviation = 0;  ///< one standard deviation
  double freedom = 1;    ///< degrees of freedom of that estimate, at least 1
};

/// `baseline` and `runs` are the blocks of a BlockSeries, at least one run. By figure, nothing
/// where it is unknown: a single block, or no latency in one of the runs. Of the difference between
/// the median of `runs` and `baseline`: of latencies and rates as natural logarithms, of error
/// rates as they are. Two or more runs show by themselves how runs differ from each other, which no
/// block of one run can tell. `seed` fixes what is drawn.
[[nodiscard]] std::array<std::optional<Spread>, kResampledFigures> spread_of(
    const std::vector<RunBlock>& baseline, const std::vector<std::vector<RunBlock>>& runs,
    std::uint64_t seed);

/// The middle one of `values`, of which there is at least one, or the mean of both.
[[nodiscard]] double median(std::vector<double> values);

/// The variance of a difference between one run and the median of `runs`, if 1 is that of a run.
[[nodiscard]] double variance_beside_median(std::size_t runs);

/// The factor by which a deviation of `freedom` degrees (1 or more) is multiplied for half of a
/// 95 % interval: that of Student's t distribution, to 1 %.
[[nodiscard]] double student_95(double freedom);

}  // namespace sluice::loadgen
