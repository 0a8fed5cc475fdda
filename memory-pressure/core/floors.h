#pragma once

#include "memory-pressure/core/node.h"
#include "memory-pressure/core/settings.h"
#include <cstdint>
#include <string>
#include <unordered_map>

namespace sluice::node_agent {

/// The least CPU a container is left with, so that its probes pass (memory-pressure.md 5.6): a
/// batch job 1m, one that is probed by a command 50m, one that serves 100m, any other the
/// configured quota. Doubled, and remembered, for containers where that proved too little.
class Floors {
 public:
  explicit Floors(const PolicySettings& settings) : quota_(settings.quota_millicores) {}

  /// In millicores.
  [[nodiscard]] std::int64_t floor(const Container& container) const;

  /// A probe failed under the present floor: the owner's is doubled, at most up to half a core.
  void raise(const Container& container);

 private:
  std::int64_t quota_;
  /// By namespace, pod and container name: survives restarts. Bounded; when full, the recorded
  /// floors are dropped, and recorded again.
  std::unordered_map<std::string, std::int64_t> raised_;
};

/// Whether slowness hurts only the container itself: no probe and no request waits.
[[nodiscard]] bool is_batch(const Container& container);

/// Namespace, pod and name: the identity of a container across restarts.
[[nodiscard]] std::string owner(const Container& container);

}  // namespace sluice::node_agent
