#pragma once

#include "common/base/ids.h"

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

namespace sluice::autoscaler {

/// The port on every activator for a scaler, unique among all of them (protocols.md 8).
/// A scaler keeps the one in its status. Where two have the same, since two replicas gave it away
/// at once, every replica comes to the same answer: the one whose name is first keeps it.
class ActivatorPorts {
 public:
  /// Notes the port in the status of a scaler, 0: none. Returns the scaler that loses this port by
  /// it, if one does.
  std::optional<RevisionId> told(const RevisionId& id, std::uint16_t in_status);

  /// The port of a scaler, chosen now if it has none; all known ports were reported before. Absent:
  /// every port is taken.
  [[nodiscard]] std::optional<std::uint16_t> port_of(const RevisionId& id);

  void forget(const RevisionId& id);

 private:
  void give(const RevisionId& id, std::uint16_t port);

  std::map<std::uint16_t, RevisionId> holders_;
  std::map<RevisionId, std::uint16_t> ports_;
};

}  // namespace sluice::autoscaler
