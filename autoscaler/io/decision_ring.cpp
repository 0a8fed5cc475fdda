#include "autoscaler/io/decision_ring.h"

namespace sluice::autoscaler {

void DecisionRing::add(const RevisionId& revision, const DecisionRecord& record) {
  if (entries_.size() >= max_) entries_.pop_front();
  entries_.push_back({revision, record});
}

std::vector<DecisionRecord> DecisionRing::since(const RevisionId& revision, TimePoint since) const {
  std::vector<DecisionRecord> found;
  for (const Entry& entry : entries_) {
    if (entry.revision == revision && entry.record.time >= since) found.push_back(entry.record);
  }
  return found;
}

std::optional<DecisionRecord> DecisionRing::at(const RevisionId& revision, TimePoint at) const {
  for (auto entry = entries_.rbegin(); entry != entries_.rend(); ++entry) {
    if (entry->revision == revision && entry->record.time <= at) return entry->record;
  }
  return std::nullopt;
}

}  // namespace sluice::autoscaler
