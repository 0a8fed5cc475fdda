#pragma once

#include "common/base/ids.h"
#include "common/kube/object_name.h"

#include <map>
#include <set>
#include <string>

namespace sluice::autoscaler {

/// Which Services say that a scaler took them over: also those that it does not name any more.
class AdoptionIndex {
 public:
  /// `scaler`: the one that `service` names now; empty: none. Whom that concerns.
  std::set<RevisionId> set(const kube::ObjectName& service, const std::string& scaler);

  [[nodiscard]] std::set<kube::ObjectName> of(const RevisionId& scaler) const;

 private:
  std::map<kube::ObjectName, RevisionId> scalers_;
  std::map<RevisionId, std::set<kube::ObjectName>> services_;
};

}  // namespace sluice::autoscaler
