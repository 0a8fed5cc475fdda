#pragma once

#include "common/base/ids.h"
#include "common/kube/object_name.h"

#include <map>
#include <set>
#include <string>

namespace sluice::autoscaler {

/// Which objects of a kind name a scaler of their namespace as their owner: also those that it
/// does not name, or name any more.
class OwnershipIndex {
 public:
  /// `scaler`: the one that `object` names now; empty: none. Returns the scalers concerned,
  /// including the previous one.
  std::set<RevisionId> set(const kube::ObjectName& object, const std::string& scaler);

  [[nodiscard]] std::set<kube::ObjectName> of(const RevisionId& scaler) const;

 private:
  std::map<kube::ObjectName, RevisionId> scalers_;
  std::map<RevisionId, std::set<kube::ObjectName>> objects_;
};

}  // namespace sluice::autoscaler
