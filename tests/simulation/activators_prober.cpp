#include "tests/simulation/activators_prober.h"

#include <algorithm>
#include <optional>

namespace sluice::simulation {

namespace {

using activator::DestinationChange;
using activator::ProbeResult;

// A sidecar answers a held probe with "not ready" after its own run of so long.
constexpr Duration kSidecarHold = std::chrono::seconds{10};

}  // namespace

Prober::Prober(Scene& scene, Platform& platform, std::function<TimePoint()> now,
               std::function<void()> changed, std::function<void(const std::string&)> trusted)
    : scene_(scene),
      platform_(platform),
      now_(std::move(now)),
      changed_(std::move(changed)),
      trusted_(std::move(trusted)),
      destinations_(activator::DestinationsSpec{}) {}

void Prober::read(const std::vector<PodLine>& pods) {
  std::vector<std::pair<std::string, bool>> named;
  for (const PodLine& pod : pods) {
    if (!pod.terminating) named.emplace_back(pod.dest, pod.ready);
  }
  activator::DestinationChanges changes;
  destinations_.set_pods(named, now_(), changes);
  take(changes);
  probe_due();
}

void Prober::suspect(const std::string& dest) {
  if (!usable_.contains(dest)) return;
  suspected_.insert(dest);
  destinations_.suspect(dest, now_());
  // Not now: whoever calls is in the middle of a request.
  arm();
}

void Prober::take(const activator::DestinationChanges& changes) {
  for (const DestinationChange& change : changes) {
    if (change.kind == DestinationChange::Kind::pod_usable) usable_.insert(change.dest);
    if (change.kind == DestinationChange::Kind::pod_gone) usable_.erase(change.dest);
  }
  if (scene_.world.mutant == Mutant::loses_pods) usable_.clear();
  if (!changes.empty()) changed_();
}

void Prober::probe_due() {
  if (stopped_) return;
  while (const std::optional<activator::Probe> due = destinations_.next_probe(now_())) probe(*due);
  arm();
}

void Prober::probe(const activator::Probe& probe) {
  under_way_.insert(probe.number);
  SimulatedPod* const pod = platform_.at(probe.dest);
  const Duration round_trip = scene_.timeline.draw(scene_.world.travel) * 2;
  if (pod == nullptr || pod->gone()) {
    // Refused by the host, or swallowed because the host is gone too.
    const bool swallowed = scene_.timeline.happens(0.2);
    return answer(probe, swallowed ? probe.connect_timeout : round_trip, ProbeResult::silent);
  }
  if (scene_.strikes(scene_.world.faults.share_silent_probes)) {
    return answer(probe, std::min(probe.connect_timeout, probe.answer_timeout),
                  ProbeResult::silent);
  }
  if (pod->health() == PodHealth::starting) return wait_for_answer(probe, *pod);
  const bool ready = pod->health() == PodHealth::ready;
  answer(probe, round_trip, ready ? ProbeResult::passed : ProbeResult::not_ready, round_trip);
}

// The sidecar holds the probe until its application serves.
void Prober::wait_for_answer(const activator::Probe& probe, SimulatedPod& pod) {
  const bool patient = probe.answer_timeout < kSidecarHold;
  answer(probe, patient ? probe.answer_timeout : kSidecarHold,
         patient ? ProbeResult::silent : ProbeResult::not_ready);
  pod.await([this, probe, &pod] {
    const Duration travel = scene_.timeline.draw(scene_.world.travel);
    switch (pod.health()) {
      case PodHealth::ready:
        return answer(probe, travel, ProbeResult::passed, travel * 2);
      case PodHealth::gone:
        return answer(probe, travel, ProbeResult::silent);
      case PodHealth::starting:
      case PodHealth::draining:
        return answer(probe, travel, ProbeResult::not_ready);
    }
  });
}

// The first answer counts.
void Prober::answer(const activator::Probe& probe, Duration after, ProbeResult result,
                    Duration round_trip) {
  scene_.timeline.after(after,
                        [this, number = probe.number, dest = probe.dest, result, round_trip] {
                          if (stopped_ || under_way_.erase(number) == 0) return;
                          activator::DestinationChanges changes;
                          destinations_.probed(number, result, now_(), round_trip, changes);
                          take(changes);
                          if (suspected_.erase(dest) > 0 && result == ProbeResult::passed)
                            trusted_(dest);
                          probe_due();
                        });
}

void Prober::arm() {
  const std::optional<TimePoint> due = destinations_.next_due();
  if (!due) return;
  const TimePoint at = scene_.timeline.now() + std::max(*due - now_(), Duration{0});
  if (alarm_ && *alarm_ <= at) return;
  alarm_ = at;
  scene_.timeline.after(at - scene_.timeline.now(), [this, at] {
    if (alarm_ != at) return;
    alarm_.reset();
    probe_due();
  });
}

}  // namespace sluice::simulation
