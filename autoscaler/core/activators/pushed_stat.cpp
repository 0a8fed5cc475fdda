#include "autoscaler/core/activators/pushed_stat.h"

namespace sluice::autoscaler {
namespace {

// Seconds that a TimePoint can hold.
constexpr std::int64_t kSecondsMax = 9'000'000'000;

}  // namespace

Stat figures_of(const proto::Stat& stat) {
  return {.average_concurrency = stat.average_concurrent_requests,
          .average_proxied_concurrency = stat.average_proxied_concurrent_requests,
          .request_count = stat.request_count,
          .proxied_request_count = stat.proxied_request_count};
}

std::optional<TimePoint> stamp_of(const proto::Stat& stat) {
  if (stat.timestamp <= 0 || stat.timestamp > kSecondsMax) return std::nullopt;
  return TimePoint{std::chrono::seconds{stat.timestamp}};
}

}  // namespace sluice::autoscaler
