#pragma once

#include "autoscaler/placement/core/algorithms.h"
#include "autoscaler/placement/core/ids.h"
#include "autoscaler/placement/core/resources.h"

#include <cstdint>
#include <span>

// Whether what moves gain is worth what they disturb.
namespace sluice::placement {

/// How urgent a demand is; the gain of admitting it is multiplied.
enum class Urgency : std::uint8_t { spare, normal, panic, cold };

/// What moving services disturbs: of each a share of all services there are, of their requests in
/// flight and of their time to start. In ppm; what is not known counts as one of all.
[[nodiscard]] Ppm cost_of(Parameters& parameters, std::span<const ServiceId> moved,
                          std::span<const ServiceId> all);

/// Whether gain / cost, both in ppm, is at least 1 / divisor with this urgency.
[[nodiscard]] bool worth(Ppm gain, Urgency urgency, Ppm cost, std::int64_t divisor);

}  // namespace sluice::placement
