#pragma once

#include "autoscaler/core/decision/saved_state.h"
#include "common/scaling/scaling_spec.h"
#include "common/time/time_point.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace sluice::autoscaler {

/// A ring of buckets over the last `window`; values of the same bucket add up (autoscaler.md 2).
/// Accepts time that steps back: a value inside the window lands in its own bucket, an older one is
/// ignored. The ring is allocated by the first value, and never again.
class WindowAverage {
 public:
  /// An instant in whole buckets since the Unix epoch.
  using Bucket = std::int64_t;

  /// `window` and `granularity` are positive; the ring holds ceil(window / granularity) buckets.
  explicit WindowAverage(Duration window, Aggregation aggregation = Aggregation::linear,
                         Duration granularity = std::chrono::seconds{1});

  /// Adds `value` at `at` (2.1). Negative values are stored as they are.
  void record(TimePoint at, double value) { record(bucket_of(at), value); }

  /// The same for a bucket that bucket_of() gave, so that windows of one granularity divide once.
  void record(Bucket bucket, double value);

  [[nodiscard]] Bucket bucket_of(TimePoint at) const;

  /// No value for longer than the window, or none ever (2.2). At exactly the window it is not
  /// empty.
  [[nodiscard]] bool empty(TimePoint now) const;

  /// The average at `now` (2.3, 2.4); 0 when there is nothing to average.
  [[nodiscard]] double average(TimePoint now) const;

  /// Changes the length and keeps the newest values (2.5). The same length changes nothing.
  void resize(Duration window, TimePoint now);

  [[nodiscard]] Aggregation aggregation() const { return aggregation_; }

  /// Averages otherwise from now on.
  void set_aggregation(Aggregation aggregation) { aggregation_ = aggregation; }

  /// Gives the ring back when the window is empty, which no reading shows; the next value
  /// allocates it again. For revisions that sleep.
  void release_if_empty(TimePoint now);

  [[nodiscard]] Duration window() const { return window_; }

  /// All it holds, for a window of the same granularity.
  [[nodiscard]] SavedWindow saved() const;

  /// Continues where the other left off. What was recorded here in later buckets stays, and so does
  /// the length: the history is brought to it as by resize().
  void restore(const SavedWindow& saved, TimePoint now);

 private:
  [[nodiscard]] Duration span(Bucket buckets) const { return buckets * granularity_; }

  // The slot of a bucket less than a ring away from last_.
  [[nodiscard]] std::size_t slot_at(Bucket distance) const;
  [[nodiscard]] double covered_buckets(Bucket limit) const;
  [[nodiscard]] double linear(Bucket now) const;
  [[nodiscard]] double weighted(Bucket now) const;
  void advance_to(Bucket bucket);
  void forget();

  Duration window_;
  Duration granularity_;
  Aggregation aggregation_;
  Bucket size_;               // buckets of the window
  std::vector<double> ring_;  // size_ of them, or none while all are zero
  std::size_t last_slot_ = 0;
  double total_ = 0;
  double smoothing_ = 0;
  std::optional<Bucket> first_;
  std::optional<Bucket> last_;
};

}  // namespace sluice::autoscaler
