#pragma once

#include "platform/kubernetes/activator/core/cluster_revision.h"
#include <map>
#include <set>
#include <utility>
#include <vector>

namespace sluice::activator {

/// Objects of one kind, each of which names its revision in `revision`.
template <class T>
class ByRevision {
 public:
  /// The revisions concerned are added to `changed`.
  void set(const ClusterName& name, T object, std::set<RevisionId>& changed) {
    const auto [found, is_new] = objects_.try_emplace(name);
    if (!is_new) {
      if (found->second == object) return;
      leave(name, found->second, changed);
    }
    found->second = std::move(object);
    names_[found->second.revision].insert(name);
    changed.insert(found->second.revision);
  }

  void drop(const ClusterName& name, std::set<RevisionId>& changed) {
    const auto found = objects_.find(name);
    if (found == objects_.end()) return;
    leave(name, found->second, changed);
    objects_.erase(found);
  }

  /// Those of `revision`, by name.
  [[nodiscard]] std::vector<const T*> of(const RevisionId& revision) const {
    std::vector<const T*> all;
    const auto found = names_.find(revision);
    if (found == names_.end()) return all;
    all.reserve(found->second.size());
    for (const ClusterName& name : found->second) all.push_back(&objects_.at(name));
    return all;
  }

  /// All that have one are added to `changed`.
  void touch_all(std::set<RevisionId>& changed) const {
    for (const auto& [revision, names] : names_) changed.insert(revision);
  }

 private:
  void leave(const ClusterName& name, const T& object, std::set<RevisionId>& changed) {
    const auto names = names_.find(object.revision);
    changed.insert(object.revision);
    names->second.erase(name);
    if (names->second.empty()) names_.erase(names);
  }

  std::map<ClusterName, T> objects_;
  std::map<RevisionId, std::set<ClusterName>> names_;
};

}  // namespace sluice::activator
