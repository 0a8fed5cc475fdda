#include "autoscaler/core/activators/stat_intake.h"

#include <algorithm>
#include <cmath>

namespace sluice::autoscaler {
namespace {

constexpr Duration kStreamSkewMax = std::chrono::seconds{2};

}  // namespace

std::optional<StatFlaw> flaw_of(const Stat& stat) {
  const auto figures = {stat.average_concurrency, stat.average_proxied_concurrency,
                        stat.request_count, stat.proxied_request_count};
  const auto any = [&figures](auto is_so) {
    return std::any_of(figures.begin(), figures.end(), is_so);
  };
  if (any([](double figure) { return !std::isfinite(figure); })) return StatFlaw::not_finite;
  if (any([](double figure) { return figure < 0; })) return StatFlaw::negative;
  if (any([](double figure) { return figure > kStatValueMax; })) return StatFlaw::too_large;
  if (stat.average_proxied_concurrency > stat.average_concurrency ||
      stat.proxied_request_count > stat.request_count) {
    return StatFlaw::proxied_above;
  }
  return std::nullopt;
}

TimePoint time_of(std::optional<TimePoint> stamp, StatDoor door, TimePoint now) {
  // Compared and never subtracted: a stamp may be as far away as numbers go.
  if (!stamp || *stamp > now) return now;
  if (door == StatDoor::stream && *stamp < now - kStreamSkewMax) return now;
  return *stamp;
}

}  // namespace sluice::autoscaler
