#pragma once

#include "common/base/ids.h"
#include "common/time/time_point.h"

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

namespace sluice::autoscaler {

/// Which scalers are to be looked at, and when. A scaler is in it once, however often it was added;
/// one whose work failed comes back after a wait that doubles with each failure.
class WorkQueue {
 public:
  static constexpr Duration kWaitLeast = std::chrono::milliseconds{100};
  static constexpr Duration kWaitMost = std::chrono::seconds{30};

  /// To be looked at `at` that time, or before if it is due before.
  void add(const RevisionId& key, TimePoint at);

  /// Its work failed at `now`: not before the wait is over, unless it is added again.
  void failed(const RevisionId& key, TimePoint now);

  /// The next failure is the first again.
  void succeeded(const RevisionId& key) { failures_.erase(key); }

  void forget(const RevisionId& key);

  /// Takes out at most `most` that are due, the longest due first.
  [[nodiscard]] std::vector<RevisionId> take(TimePoint now, std::size_t most);

  [[nodiscard]] std::optional<TimePoint> next_due() const;

  [[nodiscard]] std::size_t size() const { return due_.size(); }

 private:
  std::map<RevisionId, TimePoint> due_;
  std::set<std::pair<TimePoint, RevisionId>> order_;
  std::map<RevisionId, int> failures_;
};

}  // namespace sluice::autoscaler
