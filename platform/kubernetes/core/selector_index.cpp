#include "platform/kubernetes/core/selector_index.h"

#include <algorithm>

namespace sluice::autoscaler {

// The last of its labels: by convention `app` and `app.kubernetes.io/...` come first, and what sets
// workloads of one application apart comes later.
SelectorIndex::Place SelectorIndex::place_of(const RevisionId& id, const kube::Selector& selector) {
  if (selector.labels.empty()) return {id.space, "", ""};
  const auto& [key, value] = *selector.labels.rbegin();
  return {id.space, key, value};
}

bool SelectorIndex::set(const RevisionId& id, const kube::Selector& selector) {
  const auto known = selectors_.find(id);
  if (known != selectors_.end() && known->second == selector) return false;
  remove(id);
  selectors_.insert_or_assign(id, selector);
  places_[place_of(id, selector)].insert(id);
  return true;
}

void SelectorIndex::remove(const RevisionId& id) {
  const auto known = selectors_.find(id);
  if (known == selectors_.end()) return;
  const auto place = places_.find(place_of(id, known->second));
  place->second.erase(id);
  if (place->second.empty()) places_.erase(place);
  selectors_.erase(known);
}

void SelectorIndex::collect(const Place& place, const kube::StringMap& labels,
                            std::vector<RevisionId>& found) const {
  const auto there = places_.find(place);
  if (there == places_.end()) return;
  for (const RevisionId& id : there->second) {
    if (selectors_.at(id).matches(labels)) found.push_back(id);
  }
}

std::vector<RevisionId> SelectorIndex::find(const std::string& space,
                                            const kube::StringMap& labels) const {
  std::vector<RevisionId> found;
  collect({space, "", ""}, labels, found);
  for (const auto& [key, value] : labels) collect({space, key, value}, labels, found);
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace sluice::autoscaler
