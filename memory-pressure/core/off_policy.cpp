#include "memory-pressure/core/off_policy.h"

#include "memory-pressure/core/headroom_policy.h"
#include "memory-pressure/core/paper_policy.h"

namespace sluice::node_agent {

Decision OffPolicy::decide(const Observation& seen) {
  Decision decision;
  decision.admit_bytes = decision.room_bytes = kAdmitAnything;
  decision.upper = settings_.upper;
  decision.why = "off";
  if (!seen.memory || seen.memory->capacity <= 0) return decision;
  const double usage =
      static_cast<double>(seen.memory->used) / static_cast<double>(seen.memory->capacity);
  if (usage > settings_.upper) decision.pressure = Pressure::high;
  if (usage > settings_.critical) decision.pressure = Pressure::critical;
  return decision;
}

std::unique_ptr<Policy> make_policy(const PolicySettings& settings) {
  switch (settings.policy) {
    case PolicyKind::headroom:
      return std::make_unique<HeadroomPolicy>(settings);
    case PolicyKind::paper:
      return std::make_unique<PaperPolicy>(settings);
    case PolicyKind::off:
      break;
  }
  return std::make_unique<OffPolicy>(settings);
}

}  // namespace sluice::node_agent
