#pragma once

#include "common/time/time_point.h"

#include <cstdint>

// The start gates (memory-pressure.md 5.3.1, protocols.md 4): what a replica claims and what a gate
// answers, in every form, and how the autoscaler lets replicas in against the reports of nodes.
namespace sluice {

/// Between two starts on one node, one tick of the rule that computes `admit_bytes`: what many
/// would grow by together is seen only once they are there (memory-pressure.md 9, row 69c).
inline constexpr Duration kStartSpacing = std::chrono::milliseconds{250};

/// A replica that was there for so long is in the reports: its claim is no longer kept beside them.
inline constexpr Duration kClaimKept = std::chrono::seconds{5};

/// The memory that a replica claims when it has no memory limit or request.
inline constexpr std::int64_t kDefaultClaim = std::int64_t{64} << 20;

/// What a start gate says of one replica, or of one container.
struct GateAnswer {
  bool granted = true;
  bool later = false;      ///< not refused: while memory is short one starts per look at the node
  bool shared = false;     ///< it is the gate of several nodes: a move among them frees nothing
  std::int64_t free = 0;   ///< bytes that may start there now
  std::int64_t claim = 0;  ///< bytes that this one claims
};

}  // namespace sluice
