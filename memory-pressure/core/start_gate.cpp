#include "memory-pressure/core/start_gate.h"

#include <algorithm>

namespace sluice::node_agent {

void StartGate::report(const Decision& decision, bool tight) {
  room_ = decision.room_bytes;
  empty_ = decision.empty;
  tight_ = tight;
  admitted_ = 0;
}

GateAnswer StartGate::ask(const std::string& id, std::int64_t claim, TimePoint now) {
  const TimePoint own = time_.advance(now);
  std::erase_if(grants_, [&](const auto& entry) { return entry.second.until <= own; });
  GateAnswer answer{.claim = claim};
  if (!grants_.contains(id)) {
    answer.later = tight_ && admitted_ > 0;
    answer.granted = !answer.later && admits(claim);
    if (answer.granted) {
      ++admitted_;
      grants_[id] = {.claim = claim, .until = own + kStartWithin};
    }
  }
  answer.free = std::max<std::int64_t>(0, room_left());
  return answer;
}

bool StartGate::admits(std::int64_t claim) const {
  return claim <= room_left() || (empty_ && grants_.empty());
}

// Subtracted, not added: the room may be the largest number there is.
std::int64_t StartGate::room_left() const {
  std::int64_t left = room_;
  for (const auto& [id, grant] : grants_) left -= grant.claim;
  return left;
}

}  // namespace sluice::node_agent
