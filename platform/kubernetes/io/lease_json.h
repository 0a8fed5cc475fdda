#pragma once

#include "autoscaler/core/share/lease_election.h"

#include <optional>
#include <string>
#include <string_view>

// Lease objects of coordination.k8s.io/v1 as the election sees and writes them.
namespace sluice::autoscaler {

/// The annotation that carries the epoch.
inline constexpr const char* kEpochAnnotation = "autoscaling.sluice.dev/epoch";

/// Reads one object; absent: it is no Lease. An epoch that is no number
/// reads as 0, a duration below 0 likewise.
[[nodiscard]] std::optional<LeaseView> decode_lease(std::string_view json);

/// The body of a step that writes, in namespace `space`.
[[nodiscard]] std::string encode_lease(const LeaseStep& step, std::string_view space);

}  // namespace sluice::autoscaler
