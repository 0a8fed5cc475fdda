#pragma once

#include <string>

namespace sluice::autoscaler {

/// Which pods are held back under memory pressure.
class ThrottledPods {
 public:
  virtual ~ThrottledPods() = default;

  /// Whether the pod takes no new requests while another one can, and is no capacity. `node` empty:
  /// its node is unknown.
  [[nodiscard]] virtual bool throttled(const std::string& space, const std::string& pod,
                                       const std::string& node) const = 0;
};

}  // namespace sluice::autoscaler
