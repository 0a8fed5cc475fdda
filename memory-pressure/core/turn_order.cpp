#include "memory-pressure/core/turn_order.h"

#include <algorithm>
#include <tuple>

namespace sluice::node_agent {
namespace {

/// Ascending: the smaller key is throttled first.
std::int64_t restriction_key(const Resident& resident, const Situation& situation,
                             const PolicySettings& settings) {
  switch (settings.order) {
    case Order::age:
      return -resident.seen.started.time_since_epoch().count();
    case Order::usage:
      return resident.seen.working_set.value_or(0);
    case Order::growth:
      return -possible_growth(resident, quota_in_force(resident), situation.capacity, settings,
                              situation.now);
  }
  return 0;
}

bool may_be_restricted(const Resident& resident, const Situation& situation,
                       const PolicySettings& settings) {
  if (resident.exempt || resident.leaving) return false;
  if (age(resident, situation.now) < settings.grace) return false;
  if (resident.pause) {
    const Pause& pause = *resident.pause;
    return pause.releasing && situation.now - pause.changed >= settings.pause_min;
  }
  if (resident.spared_until && situation.now < *resident.spared_until) return false;
  return situation.critical || !resident.ran_since ||
         situation.now - *resident.ran_since >= settings.run_min;
}

}  // namespace

int class_rank(const Container& container) {
  if (is_batch(container)) return 0;
  switch (container.qos) {
    case QosClass::best_effort:
      return 0;
    case QosClass::burstable:
      return 1;
    case QosClass::guaranteed:
      return 2;
  }
  return 2;
}

std::vector<Resident*> order_of_restriction(Residents& residents, const Situation& situation,
                                            const PolicySettings& settings) {
  std::vector<Resident*> chosen;
  for (auto& [id, resident] : residents.all()) {
    if (may_be_restricted(resident, situation, settings)) chosen.push_back(&resident);
  }
  const auto key = [&](const Resident& resident) {
    return std::tuple{!resident.growth.is_leaking(), class_rank(resident.seen),
                      !resident.seen.working_set.has_value(),
                      restriction_key(resident, situation, settings)};
  };
  // The map gave them in order of their ids, which a stable sort keeps among equals.
  std::stable_sort(chosen.begin(), chosen.end(),
                   [&](const Resident* a, const Resident* b) { return key(*a) < key(*b); });
  return chosen;
}

std::vector<Resident*> order_of_release(Residents& residents, const PolicySettings& settings) {
  std::vector<Resident*> chosen;
  for (auto& [id, resident] : residents.all()) {
    if (resident.pause) chosen.push_back(&resident);
  }
  const bool by_size = settings.order == Order::usage;
  const auto key = [&](const Resident& resident) {
    const std::int64_t rank = by_size ? -resident.seen.working_set.value_or(0)
                                      : resident.seen.started.time_since_epoch().count();
    return std::tuple{resident.growth.is_leaking(), rank};
  };
  std::stable_sort(chosen.begin(), chosen.end(),
                   [&](const Resident* a, const Resident* b) { return key(*a) < key(*b); });
  return chosen;
}

std::size_t count_runners(const Residents& residents) {
  std::size_t count = 0;
  for (const auto& [id, resident] : residents.all()) {
    if (!resident.exempt && !resident.leaving && !resident.pause) ++count;
  }
  return count;
}

}  // namespace sluice::node_agent
