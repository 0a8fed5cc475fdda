#include "memory-pressure/core/quota.h"

#include "common/base/check.h"

#include <limits>

namespace sluice::node_agent {
namespace {

constexpr std::int64_t kMark = 3;

}  // namespace

CpuQuota signature(std::int64_t millicores) {
  CHECK(millicores >= 1);
  if (millicores * (kPeriodUs / 1000) < kQuotaUsMin) {
    return {.quota_us = millicores * (kLongPeriodUs / 1000) + kMark, .period_us = kLongPeriodUs};
  }
  return {.quota_us = millicores * (kPeriodUs / 1000) + kMark, .period_us = kPeriodUs};
}

bool is_signature(const CpuQuota& quota) {
  if (quota.quota_us < kQuotaUsMin) return false;
  if (quota.period_us == kPeriodUs) return quota.quota_us % (kPeriodUs / 1000) == kMark;
  return quota.period_us == kLongPeriodUs && quota.quota_us % (kLongPeriodUs / 1000) == kMark;
}

CpuQuota normalised(const CpuQuota& shown) {
  if (shown.quota_us <= 0) return kUnlimited;
  return {.quota_us = shown.quota_us,
          .period_us = shown.period_us > 0 ? shown.period_us : kPeriodUs};
}

bool is_unlimited(const CpuQuota& quota) {
  return quota.quota_us <= 0;
}

double millicores(const CpuQuota& quota) {
  if (is_unlimited(quota)) return std::numeric_limits<double>::infinity();
  return static_cast<double>(quota.quota_us) * 1000.0 / static_cast<double>(quota.period_us);
}

bool is_stricter(const CpuQuota& a, const CpuQuota& b) {
  if (is_unlimited(a)) return false;
  if (is_unlimited(b)) return true;
  return a.quota_us * b.period_us < b.quota_us * a.period_us;
}

bool is_as_sent(const CpuQuota& in_kernel, const CpuQuota& sent) {
  if (is_unlimited(in_kernel) || is_unlimited(sent)) {
    return is_unlimited(in_kernel) == is_unlimited(sent);
  }
  if (in_kernel == sent) return true;
  const double more = millicores(in_kernel) - millicores(sent);
  return more >= 0 && more <= static_cast<double>(kRoundingMillicores);
}

}  // namespace sluice::node_agent
