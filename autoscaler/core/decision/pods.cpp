#include "autoscaler/core/decision/pods.h"

namespace sluice::autoscaler {
namespace {

// One answer for both: who is counted as ready is who is asked, so that the average over the
// sample is scaled by the number of pods it was drawn from.
bool serves(const Pod& pod) {
  return pod.phase == PodPhase::running && !pod.terminating && pod.ready && !pod.throttled;
}

}  // namespace

ScrapeCandidates scrape_candidates(std::span<const Pod> pods, Duration stable_window,
                                   TimePoint now) {
  ScrapeCandidates candidates;
  for (const Pod& pod : pods) {
    if (!serves(pod)) continue;
    const bool old = pod.started_at && now - *pod.started_at >= stable_window;
    (old ? candidates.old : candidates.young).push_back(pod.address);
  }
  return candidates;
}

}  // namespace sluice::autoscaler
