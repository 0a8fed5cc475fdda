#include "memory-pressure/core/start_gate.h"

namespace sluice::node_agent {

void StartGate::report(std::int64_t admit_bytes, std::size_t running) {
  admit_bytes_ = admit_bytes;
  running_ = running;
}

bool StartGate::admit(const std::string& id, std::int64_t claim, TimePoint now) {
  const TimePoint own = time_.advance(now);
  expire(own);
  if (grants_.contains(id)) return true;
  if (!running_) return false;
  if (admitted_at_ && own - *admitted_at_ < settings_.spacing) return false;
  const bool empty = *running_ == 0 && grants_.empty();
  // Subtracted, not added: admit_bytes may be the largest number there is.
  if (!empty && claim > admit_bytes_ - reserved()) return false;
  admitted_at_ = own;
  grants_[id] = {.claim = claim, .until = own + settings_.start_within};
  return true;
}

void StartGate::started(const std::string& id, TimePoint now) {
  const TimePoint own = time_.advance(now);
  const auto found = grants_.find(id);
  if (found != grants_.end()) found->second.until = own + settings_.settle;
}

std::int64_t StartGate::reserved() const {
  std::int64_t sum = 0;
  for (const auto& [id, grant] : grants_) sum += grant.claim;
  return sum;
}

void StartGate::expire(TimePoint now) {
  std::erase_if(grants_, [&](const auto& entry) { return entry.second.until <= now; });
}

}  // namespace sluice::node_agent
