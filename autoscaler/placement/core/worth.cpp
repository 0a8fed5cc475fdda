#include "autoscaler/placement/core/worth.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>

namespace sluice::placement {
namespace {

std::int64_t factor(Urgency urgency) {
  // One replica more of a service that has some is worth the move of several that nothing disturbs;
  // a user who waits for the first replica of all is worth most.
  constexpr std::array<std::int64_t, 4> kFactors{1, 16, 32, 64};
  return kFactors[static_cast<std::size_t>(urgency)];
}

}  // namespace

Ppm cost_of(Parameters& parameters, std::span<const ServiceId> moved,
            std::span<const ServiceId> all) {
  const auto count = std::max<std::int64_t>(1, static_cast<std::int64_t>(all.size()));
  const Ppm one = kWhole / count;
  const Algorithm& restarts = *find_algorithm("restart-cost");
  const auto restart = [&](ServiceId service) { return parameters.rate(restarts, service); };
  const auto requests = [&](ServiceId service) {
    return parameters.value(Parameter::in_flight, service);
  };
  const auto sum = [&](const auto& measure) {
    std::int64_t total = 0;
    for (const ServiceId service : all) {
      total += std::clamp<std::int64_t>(measure(service).value_or(0), 0, kRateMax);
    }
    return total;
  };
  const std::int64_t all_requests = sum(requests);
  const std::int64_t all_restarts = sum(restart);
  const auto share = [one](std::optional<std::int64_t> part, std::int64_t total) {
    if (!part) return one;
    return total <= 0 ? Ppm{0} : std::min(share_of(*part, total), kWhole);
  };
  Ppm cost = 0;
  for (const ServiceId service : moved) {
    cost += one + share(requests(service), all_requests) + share(restart(service), all_restarts);
  }
  return cost;
}

bool worth(Ppm gain, Urgency urgency, Ppm cost, std::int64_t divisor) {
  return gain * factor(urgency) * std::max<std::int64_t>(0, divisor) >= cost;
}

}  // namespace sluice::placement
