#pragma once

#include "autoscaler/core/decision/saved_state.h"
#include "common/time/time_point.h"

#include <cstdint>
#include <deque>

namespace sluice::autoscaler {

/// The largest value of the last `window`, in slots of `granularity`: the memory of the scale-down
/// delay (autoscaler.md 3.2). Only recording makes old values expire.
class WindowMax {
 public:
  /// `granularity` is a whole number of seconds, at least one.
  explicit WindowMax(Duration window, Duration granularity = std::chrono::seconds{2});

  /// One that continues where another left off.
  explicit WindowMax(const SavedDelay& saved, Duration granularity = std::chrono::seconds{2});

  void record(TimePoint at, std::int32_t value);

  /// Keeps the maximum as if it had been recorded at `at`, and nothing else: for a clock that
  /// stepped.
  void carry_to(TimePoint at);

  /// The maximum of what has not expired; 0 before the first value.
  [[nodiscard]] std::int32_t current() const;

  /// All it holds.
  [[nodiscard]] SavedDelay saved() const;

 private:
  struct Entry {
    std::int64_t slot;
    std::int32_t value;
  };

  Duration granularity_;
  std::int64_t slots_;
  // Falling values with rising slots: an entry not larger than a newer one can never be the maximum
  // again. At most one entry per slot, hence at most slots_ entries.
  std::deque<Entry> entries_;
};

}  // namespace sluice::autoscaler
