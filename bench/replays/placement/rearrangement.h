#pragma once

#include "bench/replays/placement/trace.h"

#include <cstdint>
#include <vector>

namespace sluice::replay {

/// What admits an application whenever all that runs could be placed again together with it, in any
/// way: a mark to look at. It still admits in the order of arrival, and a search that takes too
/// long ends with a no.
class Rearrangement {
 public:
  explicit Rearrangement(std::int64_t cpu) : cpu_(cpu) {}

  [[nodiscard]] bool admit(const Application& application);

  /// Searches that ended because they took too long.
  [[nodiscard]] std::int64_t cut_off() const { return cut_off_; }

 private:
  std::int64_t cpu_;
  std::vector<ServiceDraw> running_;
  std::int64_t cut_off_ = 0;
};

}  // namespace sluice::replay
