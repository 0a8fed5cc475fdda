#include "memory-pressure/core/ladder.h"

#include "memory-pressure/core/resident.h"
#include <algorithm>
#include <array>

namespace sluice::node_agent {
namespace {

constexpr std::int64_t kGentleMillicores = 100;
constexpr std::int64_t kDeepestMillicores = 1;
constexpr std::array<std::int64_t, 2> kStages{100, 500};

}  // namespace

CpuQuota quota_at(std::uint32_t step, std::int64_t floor, const PolicySettings& settings) {
  std::int64_t wanted = kDeepestMillicores;
  if (step <= kStepGentle) {
    wanted = std::max(kGentleMillicores, settings.quota_millicores);
  } else if (step == kStepQuota) {
    wanted = settings.quota_millicores;
  }
  return signature(std::max(wanted, floor));
}

std::uint32_t step_of(const CpuQuota& quota, const PolicySettings& settings) {
  for (const std::uint32_t step : {kStepGentle, kStepQuota}) {
    if (!is_stricter(quota, quota_at(step, 0, settings))) return step;
  }
  return kStepDeepest;
}

std::optional<std::uint32_t> step_that_helps(const Resident& resident, std::int64_t capacity,
                                             const PolicySettings& settings, TimePoint now) {
  const CpuQuota present = quota_in_force(resident);
  const std::int64_t free_growth = possible_growth(resident, present, capacity, settings, now);
  if (free_growth == 0) return std::nullopt;
  for (const std::uint32_t step : {kStepGentle, kStepQuota, kStepDeepest}) {
    const CpuQuota quota = quota_at(step, resident.floor, settings);
    if (!is_stricter(quota, present)) continue;
    if (possible_growth(resident, quota, capacity, settings, now) <= free_growth / 2) return step;
  }
  return std::nullopt;
}

std::optional<std::uint32_t> step_below(const Resident& resident, const PolicySettings& settings) {
  const CpuQuota present = quota_in_force(resident);
  for (const std::uint32_t step : {kStepGentle, kStepQuota, kStepDeepest}) {
    if (is_stricter(quota_at(step, resident.floor, settings), present)) return step;
  }
  return std::nullopt;
}

std::optional<CpuQuota> stage_above(const CpuQuota& quota, const CpuQuota& original) {
  for (const std::int64_t stage : kStages) {
    const CpuQuota next = signature(stage);
    if (is_stricter(quota, next) && is_stricter(next, original)) return next;
  }
  return std::nullopt;
}

}  // namespace sluice::node_agent
