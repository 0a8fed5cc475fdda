#pragma once

#include "memory-pressure/core/quota.h"
#include "memory-pressure/core/settings.h"
#include <cstdint>
#include <optional>

namespace sluice::node_agent {

struct Resident;

/// The steps of memory-pressure.md 5.5 that are quotas.
inline constexpr std::uint32_t kStepGentle = 2;   ///< 100m
inline constexpr std::uint32_t kStepQuota = 3;    ///< the configured quota, 25m
inline constexpr std::uint32_t kStepDeepest = 4;  ///< 1m with a period of 1 s

/// The quota of `step` for one that must keep `floor` millicores.
[[nodiscard]] CpuQuota quota_at(std::uint32_t step, std::int64_t floor,
                                const PolicySettings& settings);

/// The gentlest step whose quota is not above `quota`.
[[nodiscard]] std::uint32_t step_of(const CpuQuota& quota, const PolicySettings& settings);

/// The gentlest step that would at least halve what `resident` may add; absent: no quota that its
/// floor allows holds it back, so throttling would only cost.
[[nodiscard]] std::optional<std::uint32_t> step_that_helps(const Resident& resident,
                                                           std::int64_t capacity,
                                                           const PolicySettings& settings,
                                                           TimePoint now);

/// The next step whose quota is stricter than the one in force; absent: the floor is reached.
[[nodiscard]] std::optional<std::uint32_t> step_below(const Resident& resident,
                                                      const PolicySettings& settings);

/// The next quota on the way up, or absent: the original is next (memory-pressure.md 5.4).
[[nodiscard]] std::optional<CpuQuota> stage_above(const CpuQuota& quota, const CpuQuota& original);

}  // namespace sluice::node_agent
