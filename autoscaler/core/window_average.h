#pragma once

#include "common/time/time_point.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace sluice::autoscaler {

/// How the values of a window become one number.
enum class Aggregation {
  linear,    ///< the plain average over the covered part of the window
  weighted,  ///< exponentially falling weights, newest first, not normalised
};

/// A ring of buckets over the last `window`; values of the same bucket add up (autoscaler.md 2).
/// Accepts time that steps back: a value inside the window lands in its own bucket, an older one is
/// ignored.
class WindowAverage {
 public:
  /// `window` and `granularity` are positive; the ring holds ceil(window / granularity) buckets.
  explicit WindowAverage(Duration window, Aggregation aggregation = Aggregation::linear,
                         Duration granularity = std::chrono::seconds{1});

  /// Adds `value` at `at` (2.1). Negative values are stored as they are.
  void record(TimePoint at, double value);

  /// No value for longer than the window, or none ever (2.2). At exactly the window it is not
  /// empty.
  [[nodiscard]] bool empty(TimePoint now) const;

  /// The average at `now` (2.3, 2.4); 0 when there is nothing to average.
  [[nodiscard]] double average(TimePoint now) const;

  /// Changes the length and keeps the newest values (2.5). The same length changes nothing.
  void resize(Duration window, TimePoint now);

  [[nodiscard]] Duration window() const { return window_; }

 private:
  // Instants below are counted in whole buckets since the Unix epoch.
  [[nodiscard]] std::int64_t bucket_of(TimePoint at) const;
  [[nodiscard]] std::size_t slot_of(std::int64_t bucket) const;

  [[nodiscard]] Duration span(std::int64_t buckets) const { return buckets * granularity_; }

  [[nodiscard]] double covered_buckets(std::int64_t limit) const;
  [[nodiscard]] double linear(std::int64_t now) const;
  [[nodiscard]] double weighted(std::int64_t now) const;
  void advance_to(std::int64_t bucket);

  Duration window_;
  Duration granularity_;
  Aggregation aggregation_;
  std::vector<double> buckets_;
  double total_ = 0;
  double smoothing_ = 0;
  std::optional<std::int64_t> first_;
  std::optional<std::int64_t> last_;
};

}  // namespace sluice::autoscaler
