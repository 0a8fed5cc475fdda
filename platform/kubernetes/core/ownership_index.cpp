#include "platform/kubernetes/core/ownership_index.h"

namespace sluice::autoscaler {

std::set<RevisionId> OwnershipIndex::set(const kube::ObjectName& object,
                                         const std::string& scaler) {
  std::set<RevisionId> concerned;
  const auto before = scalers_.find(object);
  if (before != scalers_.end()) {
    const auto objects = objects_.find(before->second);
    objects->second.erase(object);
    if (objects->second.empty()) objects_.erase(objects);
    concerned.insert(before->second);
    scalers_.erase(before);
  }
  if (scaler.empty()) return concerned;
  const RevisionId id{object.space, scaler};
  scalers_.emplace(object, id);
  objects_[id].insert(object);
  concerned.insert(id);
  return concerned;
}

std::set<kube::ObjectName> OwnershipIndex::of(const RevisionId& scaler) const {
  const auto found = objects_.find(scaler);
  return found == objects_.end() ? std::set<kube::ObjectName>{} : found->second;
}

}  // namespace sluice::autoscaler
