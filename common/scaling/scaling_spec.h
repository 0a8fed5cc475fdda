#pragma once

#include "common/time/time_point.h"

#include <cstdint>

namespace sluice::autoscaler {

/// How the values of a window become one number.
enum class Aggregation {
  linear,    ///< the plain average over the covered part of the window
  weighted,  ///< exponentially falling weights, newest first, not normalised
};

/// What is scaled on. Both are averages per second buckets over a window.
enum class ScalingMetric { concurrency, rps };

/// Whether requests can be routed to a revision. Unknown counts as reachable.
enum class Reachability { unknown, reachable, unreachable };

/// Parameters of one revision's decider and collector (autoscaler.md 7, "decider and metric").
struct DeciderSpec {
  ScalingMetric metric = ScalingMetric::concurrency;
  Aggregation aggregation = Aggregation::linear;
  double target_value = 70;  ///< wanted per pod: requests in flight, or requests per second
  double total_value = 100;  ///< capacity of a pod in the same unit
  double target_burst_capacity = 211;  ///< requests; -1 = unlimited, 0 = off
  double activator_capacity = 100;     ///< requests one activator carries
  double max_scale_up_rate = 1000;     ///< ratio to the ready pods in one decision
  double max_scale_down_rate = 2;      ///< likewise
  double panic_threshold = 2;          ///< ratio of pods wanted by the panic window to ready pods
  Duration stable_window = std::chrono::seconds{60};
  Duration panic_window = std::chrono::seconds{6};
  Duration scale_down_delay{0};  ///< 0 = none
  std::int32_t initial_scale = 1;
  std::int32_t activation_scale = 0;  ///< smallest non-zero count; <= 1 = off
  bool reachable = true;
  bool has_scrape_target = true;  ///< false when the burst capacity is -1: nothing is scraped

  friend bool operator==(const DeciderSpec&, const DeciderSpec&) = default;
};

/// Outer bounds of the number of pods; a max of 0 is none.
struct Bounds {
  std::int32_t min = 0;
  std::int32_t max = 0;

  friend bool operator==(const Bounds&, const Bounds&) = default;
};

/// The settings of scale to zero (autoscaler.md 8.3).
struct ZeroSpec {
  bool enabled = true;
  Duration grace =
      std::chrono::seconds{30};  ///< traffic must have gone through activators this long
  Duration retention{0};         ///< smallest life of the last pod after traffic ended
  Duration progress_deadline = std::chrono::seconds{600};

  friend bool operator==(const ZeroSpec&, const ZeroSpec&) = default;
};

/// Everything the autoscaler core needs of a revision; made by resolve() from the
/// cluster configuration and the revision's annotations.
struct ScalingSpec {
  DeciderSpec decider;
  Bounds bounds;
  ZeroSpec zero;
  /// Spare burst capacity, in requests, that must be there before the activators leave the path;
  /// they come back as soon as there is none. 0, the default, is the reference's rule.
  double burst_capacity_hysteresis = 0;

  friend bool operator==(const ScalingSpec&, const ScalingSpec&) = default;
};

}  // namespace sluice::autoscaler
