#include "programs/sluice/simulation/world.h"

#include <algorithm>

namespace sluice::simulation {

std::int32_t at_rest(const autoscaler::ScalingSpec& scaling) {
  return std::max(scaling.bounds.min, scaling.zero.enabled ? 0 : 1);
}

void add_to(Outcome& all, const Outcome& one) {
  all.sent += one.sent;
  all.answered += one.answered;
  all.refused += one.refused;
  all.dismissed += one.dismissed;
  all.cut += one.cut;
  all.left += one.left;
  all.wakes += one.wakes;
  all.sleeps += one.sleeps;
  all.cold_starts += one.cold_starts;
  all.panics += one.panics;
  all.pods_max = std::max(all.pods_max, one.pods_max);
  all.pods_at_end += one.pods_at_end;
  all.deaths += one.deaths;
  all.pod_seconds += one.pod_seconds;
  all.length = std::max(all.length, one.length);
  all.stranded = std::max(all.stranded, one.stranded);
  all.waits.add(one.waits);
  if (all.breach.empty()) all.breach = one.breach;
}

}  // namespace sluice::simulation
