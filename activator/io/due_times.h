#pragma once

#include "common/loop/loop.h"

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

namespace sluice::activator {

/// When each of many things, known by their indices, must be looked at again; one timer for all.
class DueTimes {
 public:
  /// Called from the loop once the time of `index` has come, which is no longer set then.
  using Look = std::function<void(std::size_t index, TimePoint now)>;

  /// `loop` outlives this.
  DueTimes(Loop& loop, Look look);

  /// In place of the time it had; absent: never. One that has passed is as good as now.
  void set(std::size_t index, std::optional<TimePoint> due);

 private:
  void arm();
  void on_due();

  Loop& loop_;
  Look look_;
  std::vector<std::optional<TimePoint>> times_;        // by index
  std::set<std::pair<TimePoint, std::size_t>> order_;  // those that are set
  std::optional<TimePoint> armed_;
  std::unique_ptr<Timer> timer_;
};

}  // namespace sluice::activator
