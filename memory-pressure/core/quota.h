#pragma once

#include "memory-pressure/core/node.h"
#include <cstdint>

namespace sluice::node_agent {

inline constexpr std::int64_t kPeriodUs = 100'000;
/// For quotas under the kernel's minimum of 1000 us per period.
inline constexpr std::int64_t kLongPeriodUs = 1'000'000;
inline constexpr std::int64_t kQuotaUsMin = 1000;
/// No limit, as it is sent: -1 releases, 0 would be ignored (memory-pressure.md 0.5).
inline constexpr CpuQuota kUnlimited{.quota_us = -1, .period_us = kPeriodUs};
/// What the systemd driver may add by rounding up to 10 ms of CPU per second.
inline constexpr std::int64_t kRoundingMillicores = 10;

/// `millicores` (at least 1) as a quota that is ours at sight: 2503 us instead of 2500, where the
/// kubelet writes whole millicores only. Below 10m with a period of 1 s.
[[nodiscard]] CpuQuota signature(std::int64_t millicores);

/// Whether `quota` can only have been set by us.
[[nodiscard]] bool is_signature(const CpuQuota& quota);

/// What a runtime or a kernel shows, in one form: no limit is -1 per 100 ms, whether it was shown
/// as 0 (never set), -1 (set once) or -2.
[[nodiscard]] CpuQuota normalised(const CpuQuota& shown);

[[nodiscard]] bool is_unlimited(const CpuQuota& quota);

/// CPU time per time, in thousandths of a core; infinite without a limit.
[[nodiscard]] double millicores(const CpuQuota& quota);

/// Whether `a` leaves less CPU than `b`.
[[nodiscard]] bool is_stricter(const CpuQuota& a, const CpuQuota& b);

/// Whether the kernel's value is what was sent, as it is or rounded up by the systemd driver.
[[nodiscard]] bool is_as_sent(const CpuQuota& in_kernel, const CpuQuota& sent);

}  // namespace sluice::node_agent
