#include "platform/kubernetes/activator/core/pod_selections.h"

#include <algorithm>

namespace sluice::activator {

namespace {

std::string label_key(const std::string& key, const std::string& value) {
  return key + '=' + value;
}

bool matches(const Labels& selector, const Labels& labels) {
  return std::all_of(selector.begin(), selector.end(), [&labels](const auto& wanted) {
    const auto found = labels.find(wanted.first);
    return found != labels.end() && found->second == wanted.second;
  });
}

}  // namespace

void PodSelections::set_selection(const ClusterName& name, PodSelection selection) {
  Space& space = spaces_[name.space];
  PodSelection& kept = space.selections[name.name];
  if (kept == selection) return;
  kept = std::move(selection);
  outdate(name.space, space);
}

void PodSelections::drop_selection(const ClusterName& name) {
  const auto space = spaces_.find(name.space);
  if (space == spaces_.end() || space->second.selections.erase(name.name) == 0) return;
  outdate(name.space, space->second);
}

void PodSelections::outdate(const std::string& name, Space& space) {
  if (!space.stale) stale_.push_back(name);
  space.stale = true;
}

void PodSelections::set_pod(const ClusterName& name, ClusterPod pod) {
  Space& space = spaces_[name.space];
  const auto [found, is_new] = space.pods.try_emplace(name.name);
  Seen& seen = found->second;
  if (is_new) {
    ++pods_;
  } else if (seen.pod == pod) {
    return;
  }
  const bool moved = is_new || seen.pod.labels != pod.labels;
  seen.pod = std::move(pod);
  changed_.insert(seen.of.begin(), seen.of.end());
  // A stale index is of no use, and its pods are placed again anyway.
  if (moved && !space.stale) place(found->first, seen, revisions_of(space, seen.pod.labels));
}

void PodSelections::drop_pod(const ClusterName& name) {
  const auto space = spaces_.find(name.space);
  if (space == spaces_.end()) return;
  const auto found = space->second.pods.find(name.name);
  if (found == space->second.pods.end()) return;
  place(found->first, found->second, {});
  space->second.pods.erase(found);
  --pods_;
  if (space->second.pods.empty() && space->second.selections.empty()) spaces_.erase(space);
}

// Of all labels a selector asks for, the one with the longest text: `app=shop` tells pods apart
// where `tier=web` may not, and any choice is right.
void PodSelections::index(Space& space) {
  space.by_label.clear();
  for (const auto& [service, selection] : space.selections) {
    std::string best;
    for (const auto& [key, value] : selection.selector) {
      std::string text = label_key(key, value);
      if (text.size() > best.size()) best = std::move(text);
    }
    if (!best.empty()) space.by_label[best].push_back(&selection);
  }
}

std::vector<RevisionId> PodSelections::revisions_of(const Space& space, const Labels& labels) {
  std::vector<RevisionId> of;
  for (const auto& [key, value] : labels) {
    const auto found = space.by_label.find(label_key(key, value));
    if (found == space.by_label.end()) continue;
    for (const PodSelection* selection : found->second) {
      if (matches(selection->selector, labels)) of.push_back(selection->revision);
    }
  }
  std::sort(of.begin(), of.end());
  of.erase(std::unique(of.begin(), of.end()), of.end());
  return of;
}

void PodSelections::place(const std::string& name, Seen& seen, std::vector<RevisionId> of) {
  if (of == seen.of) return;
  for (const RevisionId& id : seen.of) {
    if (std::binary_search(of.begin(), of.end(), id)) continue;
    const auto members = members_.find(id);
    members->second.erase(name);
    if (members->second.empty()) members_.erase(members);
    changed_.insert(id);
  }
  for (const RevisionId& id : of) {
    if (members_[id].emplace(name, &seen.pod).second) changed_.insert(id);
  }
  seen.of = std::move(of);
}

std::set<RevisionId> PodSelections::settle() {
  for (const std::string& name : std::exchange(stale_, {})) {
    const auto found = spaces_.find(name);
    if (found == spaces_.end()) continue;
    Space& space = found->second;
    index(space);
    for (auto& [pod, seen] : space.pods) place(pod, seen, revisions_of(space, seen.pod.labels));
    space.stale = false;
    if (space.pods.empty() && space.selections.empty()) spaces_.erase(found);
  }
  return std::exchange(changed_, {});
}

std::vector<ReachablePod> PodSelections::pods(const RevisionId& revision) const {
  std::vector<ReachablePod> pods;
  const auto members = members_.find(revision);
  if (members == members_.end()) return pods;
  pods.reserve(members->second.size());
  for (const auto& [name, pod] : members->second) {
    if (pod->ip.empty() || pod->port == 0) continue;
    pods.push_back({name, pod->ip, pod->port, pod->ready, pod->terminating, pod->fast_ready});
  }
  return pods;
}

}  // namespace sluice::activator
