#pragma once

#include "common/scaling/scaling_spec.h"
#include "common/time/time_point.h"

#include <cstdint>
#include <optional>
#include <vector>

// The state of the cores of a revision that neither its spec nor the platform has, as plain values;
// revision_scaler.h has the whole of it. A scaler that restores what another saved continues as if
// it were that one: a recording of decisions begins with it.
namespace sluice::autoscaler {

/// A window of averages, ring and sums.
struct SavedWindow {
  Duration window{};
  std::optional<std::int64_t> first{};  ///< bucket of the oldest value
  std::optional<std::int64_t> last{};   ///< bucket of the newest value
  double total = 0;                     ///< the running sum, with what rounding has left in it
  /// Of the buckets up to `last`, oldest first; those before were zero. Empty: no ring.
  std::vector<double> values{};

  friend bool operator==(const SavedWindow&, const SavedWindow&) = default;
};

/// The memory of a scale-down delay.
struct SavedDelay {
  struct Entry {
    std::int64_t slot = 0;
    std::int32_t value = 0;

    friend bool operator==(const Entry&, const Entry&) = default;
  };

  std::int64_t slots = 0;        ///< its length
  std::vector<Entry> entries{};  ///< falling values with rising slots

  friend bool operator==(const SavedDelay&, const SavedDelay&) = default;
};

/// What was observed, and for how long.
struct SavedAttention {
  TimePoint evaluated{};
  Duration step{};
  Duration usual{};
  std::optional<TimePoint> absent_since{};
  std::optional<TimePoint> resumed{};
  Duration known{};
  bool had_data = false;
  bool settled = false;

  friend bool operator==(const SavedAttention&, const SavedAttention&) = default;
};

/// The four windows of a revision.
struct SavedCollector {
  SavedWindow concurrency_stable{};
  SavedWindow concurrency_panic{};
  SavedWindow rps_stable{};
  SavedWindow rps_panic{};
  std::optional<TimePoint> newest{};
  Aggregation aggregation = Aggregation::linear;  ///< of all four, from their making on

  friend bool operator==(const SavedCollector&, const SavedCollector&) = default;
};

/// Panic and delay.
struct SavedDecider {
  std::optional<TimePoint> panic_since{};
  std::optional<TimePoint> panic_entered{};
  std::int32_t peak_pods = 0;
  std::optional<SavedDelay> delay{};

  friend bool operator==(const SavedDecider&, const SavedDecider&) = default;
};

}  // namespace sluice::autoscaler
