#pragma once

#include "common/base/ids.h"
#include "common/kube/objects.h"

#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

namespace sluice::autoscaler {

/// Which scalers a pod belongs to, by the selectors of their targets. A look-up costs the labels of
/// the pod, not the scalers of its namespace: a selector is under the rarest thing it requires,
/// one of its own labels.
class SelectorIndex {
 public:
  /// Replaces the selector of `id`, whose namespace is that of the pods. Returns whether that
  /// changed anything.
  bool set(const RevisionId& id, const kube::Selector& selector);

  void remove(const RevisionId& id);

  /// In order of their names.
  [[nodiscard]] std::vector<RevisionId> find(const std::string& space,
                                             const kube::StringMap& labels) const;

 private:
  // Namespace, key and value of a label; both empty for selectors without labels.
  using Place = std::tuple<std::string, std::string, std::string>;

  [[nodiscard]] static Place place_of(const RevisionId& id, const kube::Selector& selector);
  void collect(const Place& place, const kube::StringMap& labels,
               std::vector<RevisionId>& found) const;

  std::map<RevisionId, kube::Selector> selectors_;
  std::map<Place, std::set<RevisionId>> places_;
};

}  // namespace sluice::autoscaler
