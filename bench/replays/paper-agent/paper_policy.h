#pragma once

#include "memory-pressure/core/node.h"
#include "memory-pressure/core/own_time.h"
#include "memory-pressure/core/policy.h"
#include "memory-pressure/core/settings.h"
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace sluice::node_agent {

/// The published rule (Kang and Yu 2024), exactly: memory-pressure.md 1, its recursion a loop.
/// Fixed where the paper is silent: fewer candidates than R, take those; one that exits leaves the
/// list; exempt containers are no candidates; of the last R to be removed, one per observation.
class PaperPolicy final : public Policy {
 public:
  explicit PaperPolicy(const PolicySettings& settings);

  [[nodiscard]] Decision decide(const Observation& seen) override;

 private:
  void forget_gone(const Observation& seen);
  void step(const Observation& seen, const NodeMemory& memory, TimePoint now);
  void restrict(const Observation& seen, const NodeMemory& memory, TimePoint now);

  PolicySettings settings_;
  OwnTime time_;
  std::vector<Throttle> restricted_;        ///< in order of restriction
  std::deque<std::string> victims_;         ///< to be removed, one after the other
  std::optional<TimePoint> waiting_since_;  ///< absent: idle
};

/// MakePolicy of the published rule.
[[nodiscard]] std::unique_ptr<Policy> make_paper(const PolicySettings& settings);

}  // namespace sluice::node_agent
