#include "autoscaler/kubernetes/core/adoption_index.h"

namespace sluice::autoscaler {

std::set<RevisionId> AdoptionIndex::set(const kube::ObjectName& service,
                                        const std::string& scaler) {
  std::set<RevisionId> concerned;
  const auto before = scalers_.find(service);
  if (before != scalers_.end()) {
    const auto services = services_.find(before->second);
    services->second.erase(service);
    if (services->second.empty()) services_.erase(services);
    concerned.insert(before->second);
    scalers_.erase(before);
  }
  if (scaler.empty()) return concerned;
  const RevisionId id{service.space, scaler};
  scalers_.emplace(service, id);
  services_[id].insert(service);
  concerned.insert(id);
  return concerned;
}

std::set<kube::ObjectName> AdoptionIndex::of(const RevisionId& scaler) const {
  const auto found = services_.find(scaler);
  return found == services_.end() ? std::set<kube::ObjectName>{} : found->second;
}

}  // namespace sluice::autoscaler
