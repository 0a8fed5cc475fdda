#pragma once

#include "common/time/time_point.h"

#include <cstdint>

// The figures of both start gates, that of a node and that of the nodes of a cluster together: how
// starts are let in against a report's `admit_bytes` (memory-pressure.md 5.3.1, protocols.md 4).
namespace sluice {

/// Between two starts on one node, one tick of the rule that computes `admit_bytes`: what many
/// would grow by together is seen only once they are there (memory-pressure.md 9, row 69c).
inline constexpr Duration kStartSpacing = std::chrono::milliseconds{250};

/// A replica that was there for so long is in the reports: its claim is no longer kept beside them.
inline constexpr Duration kClaimKept = std::chrono::seconds{5};

/// The memory that a replica claims when nothing says how much it may use.
inline constexpr std::int64_t kDefaultClaim = std::int64_t{64} << 20;

}  // namespace sluice
