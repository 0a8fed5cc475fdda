#pragma once

#include "memory-pressure/core/policy.h"
#include "memory-pressure/core/resident.h"
#include "memory-pressure/core/situation.h"
#include <optional>
#include <string>

namespace sluice::node_agent {

/// The last resort of the headroom rule: one container at a time, the one whose loss costs least
/// (memory-pressure.md 5.5, step 5).
class Sacrifices {
 public:
  explicit Sacrifices(const PolicySettings& settings) : settings_(settings) {}

  /// The container to be ended now, if it has to come to that. `exhausted_since`: when throttling
  /// had done all it could. The victim is marked as leaving until it is gone.
  [[nodiscard]] std::optional<Sacrifice> choose(Residents& residents, const Situation& situation,
                                                std::optional<TimePoint> exhausted_since);

 private:
  [[nodiscard]] bool is_under_way(Residents& residents, TimePoint now);

  PolicySettings settings_;
  std::string victim_;             ///< empty: none
  std::optional<TimePoint> last_;  ///< when the last victim was chosen, then when it was gone
};

}  // namespace sluice::node_agent
