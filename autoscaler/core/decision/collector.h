#pragma once

#include "autoscaler/core/decision/saved_state.h"
#include "autoscaler/core/decision/window_average.h"
#include "common/scaling/scaling_spec.h"
#include "common/time/time_point.h"

#include <cstdint>
#include <optional>
#include <span>

namespace sluice::autoscaler {

/// One report for one interval, of a sidecar or an activator. The counts are rates per second.
struct Stat {
  double average_concurrency = 0;
  double average_proxied_concurrency = 0;  ///< the part that came through an activator
  double request_count = 0;
  double proxied_request_count = 0;
};

/// How many of `population` pods are scraped (autoscaler.md 1.4).
[[nodiscard]] std::int32_t sample_size(std::int32_t population);

/// The same for a population that is no whole number, as the reference computes it.
[[nodiscard]] double sample_size(double population);

/// The load of all `ready` pods, estimated from the answers of a sample. `answers` is not empty.
[[nodiscard]] Stat scrape_average(std::span<const Stat> answers, std::int32_t ready);

/// The four windows of a revision: stable and panic, of concurrency and of requests per second
/// (autoscaler.md 1.5, 2).
///
/// The stable and the panic average look like two readings of one history, yet each has its own
/// ring: after a gap longer than the panic window the short ring restarts and divides by its new
/// age, while the long one still counts the gap as zeros.
class Collector {
 public:
  explicit Collector(const DeciderSpec& spec);

  /// Adds a stat to all four windows at its own time; what came through an activator is left out,
  /// since the activator reports it too.
  void record(const Stat& stat, TimePoint at);

  /// Takes over changed window lengths. The aggregation stays as it was at creation.
  void update(const DeciderSpec& spec, TimePoint now);

  /// Gives back the memory of windows that hold nothing.
  void release_if_empty(TimePoint now);

  /// Averages of one metric, and whether the stable window holds anything.
  struct Averages {
    double stable = 0;
    double panic = 0;
    bool empty = false;
  };

  [[nodiscard]] Averages averages(ScalingMetric metric, TimePoint now) const;

  /// The newest instant a stat was recorded at; absent before the first.
  [[nodiscard]] std::optional<TimePoint> newest() const { return newest_; }

  /// Stats have come, but none newer than min(10 s, half the stable window): what the windows hold
  /// is old (autoscaler.md 16.2).
  [[nodiscard]] bool silent(const DeciderSpec& spec, TimePoint now) const;

  /// All four windows.
  [[nodiscard]] SavedCollector saved() const;

  /// Continues where the other left off, and keeps what was recorded here since.
  void restore(const SavedCollector& saved, TimePoint now);

 private:
  struct Pair {
    WindowAverage stable;
    WindowAverage panic;
  };

  Pair concurrency_;
  Pair rps_;
  std::optional<TimePoint> newest_;
};

}  // namespace sluice::autoscaler
