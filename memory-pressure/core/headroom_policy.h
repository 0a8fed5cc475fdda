#pragma once

#include "memory-pressure/core/bridged_memory.h"
#include "memory-pressure/core/own_time.h"
#include "memory-pressure/core/pauses.h"
#include "memory-pressure/core/policy.h"
#include "memory-pressure/core/resident.h"
#include "memory-pressure/core/sacrifices.h"
#include "memory-pressure/core/settings.h"
#include "memory-pressure/core/situation.h"
#include "memory-pressure/core/threshold.h"
#include <memory>
#include <optional>

namespace sluice::node_agent {

/// Our rule: a start gate on possible growth first, throttling second (memory-pressure.md 5).
class HeadroomPolicy final : public Policy {
 public:
  explicit HeadroomPolicy(const PolicySettings& settings);

  [[nodiscard]] Decision decide(const Observation& seen) override;

  /// Whether others can still be held in place of these: until then none is restricted further.
  void spare(bool spared) { spared_ = spared; }

 private:
  [[nodiscard]] Decision stand_still(const Observation& seen);
  [[nodiscard]] bool is_empty() const;
  void admit(const Situation& situation, Decision& decision) const;
  void list_throttled(Decision& decision) const;
  void ask_for_reclaim(const Situation& situation, Decision& decision);

  PolicySettings settings_;
  OwnTime time_;
  Threshold threshold_;
  Residents residents_;
  Pauses pauses_;
  Sacrifices sacrifices_;
  BridgedMemory memory_;
  bool spared_ = false;
  bool first_ = true;
  double upper_ = 0;
  std::optional<TimePoint> reclaimed_at_;
};

/// MakePolicy of our rule.
[[nodiscard]] std::unique_ptr<Policy> make_headroom(const PolicySettings& settings);

}  // namespace sluice::node_agent
