#include "platform/kubernetes/activator/core/replica_slices.h"

#include <algorithm>
#include <utility>

namespace sluice::activator {

void ReplicaSlices::set(const ClusterName& name, ClusterSlice slice) {
  slices_.insert_or_assign(name, std::move(slice));
}

void ReplicaSlices::drop(const ClusterName& name) {
  slices_.erase(name);
}

std::optional<std::vector<std::string>> ReplicaSlices::settle() {
  std::vector<std::string> now;
  for (const auto& [name, slice] : slices_) {
    for (const SliceEndpoint& endpoint : slice.endpoints) now.push_back(endpoint.ip);
  }
  std::sort(now.begin(), now.end());
  now.erase(std::unique(now.begin(), now.end()), now.end());
  if (now.size() > kAddressesMax) now.resize(kAddressesMax);
  if (now.empty() || now == told_) return std::nullopt;
  told_ = now;
  return now;
}

}  // namespace sluice::activator
