#pragma once

#include "platform/kubernetes/activator/core/cluster_revision.h"
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace sluice::activator {

/// The addresses of all replicas behind one headless Service, from its EndpointSlices. Whether one
/// is ready does not matter: its stream shows that.
class ReplicaSlices {
 public:
  /// Reported addresses, at most; the first ones in order.
  static constexpr std::size_t kAddressesMax = 32;

  void set(const ClusterName& name, ClusterSlice slice);
  void drop(const ClusterName& name);

  /// The addresses, sorted; absent: as before. That there are none is never reported: the last ones
  /// may be back before anything better is known.
  [[nodiscard]] std::optional<std::vector<std::string>> settle();

  /// As last reported.
  [[nodiscard]] const std::vector<std::string>& addresses() const { return told_; }

 private:
  std::map<ClusterName, ClusterSlice> slices_;
  std::vector<std::string> told_;
};

}  // namespace sluice::activator
