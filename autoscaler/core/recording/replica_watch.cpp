#include "autoscaler/core/recording/replica_watch.h"

#include <cstdint>

namespace sluice::autoscaler {

void ReplicaWatch::leaves(std::string_view name) {
  const auto known = known_.find(name);
  if (known != known_.end()) known->second.leaves = true;
}

std::vector<ReplicaNote> ReplicaWatch::look(std::span<const Seen> replicas, TimePoint now) {
  std::vector<ReplicaNote> notes;
  const auto note = [&](ReplicaEvent event, Duration took = Duration{0}) {
    notes.push_back({.at = now,
                     .event = event,
                     .replicas = static_cast<std::int32_t>(known_.size()),
                     .took = took});
  };
  for (auto& [name, known] : known_) known.there = false;
  for (const Seen& replica : replicas) {
    if (const auto known = known_.find(replica.name); known != known_.end())
      known->second.there = true;
  }
  for (auto at = known_.begin(); at != known_.end();) {
    const Known known = at->second;
    at = known.there ? std::next(at) : known_.erase(at);
    if (!known.there) note(known.ready && !known.leaves ? ReplicaEvent::lost : ReplicaEvent::gone);
  }
  for (const Seen& replica : replicas) {
    const auto [at, is_new] = known_.try_emplace(std::string{replica.name}, Known{.since = now});
    Known& known = at->second;
    if (is_new) note(ReplicaEvent::started);
    if (known.ready == replica.ready) continue;
    known.ready = replica.ready;
    if (replica.ready) {
      note(ReplicaEvent::ready, now - known.since);
    } else if (!known.leaves) {
      note(ReplicaEvent::lost);
      known.since = now;
    }
  }
  return notes;
}

}  // namespace sluice::autoscaler
