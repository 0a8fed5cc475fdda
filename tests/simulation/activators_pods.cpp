#include "tests/simulation/activators_pods.h"

#include "common/base/lifetime.h"
#include "tests/simulation/activators_pod.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace sluice::simulation {

namespace {

using End = activator::PoolProbeResult::End;

// A sidecar answers a held probe with "not ready" after its own run of so long.
constexpr Duration kSidecarHold = std::chrono::seconds{10};

activator::PoolProbeResult passed() {
  return {.end = End::answered, .status = 200, .body = "queue", .sluice_error = {}, .text = {}};
}

activator::PoolProbeResult not_ready() {
  return {.end = End::answered, .status = 503, .body = {}, .sluice_error = "not-ready", .text = {}};
}

activator::PoolProbeResult silent() {
  return {.end = End::timed_out, .status = 0, .body = {}, .sluice_error = {}, .text = {}};
}

// Several answers may be on their way; the first counts.
class SimulatedProbe final : public activator::PodAsker::Question {
 public:
  SimulatedProbe(Scene& scene, activator::PoolProbe::Done done)
      : scene_(scene), done_(std::move(done)) {}

  void answer(Duration after, const activator::PoolProbeResult& result) {
    scene_.timeline.after(after, [this, alive = alive_.watch(), result] {
      if (alive.over() || !done_) return;
      const activator::PoolProbe::Done done = std::exchange(done_, nullptr);
      done(result);
    });
  }

  // The sidecar holds the probe until its application serves.
  void wait(SimulatedPod& pod, Duration answer_timeout) {
    const bool patient = answer_timeout < kSidecarHold;
    answer(patient ? answer_timeout : kSidecarHold, patient ? silent() : not_ready());
    pod.await([this, alive = alive_.watch(), &pod] {
      if (alive.over()) return;
      const Duration travel = scene_.timeline.draw(scene_.world.travel);
      switch (pod.health()) {
        case PodHealth::ready:
          return answer(travel, passed());
        case PodHealth::gone:
          return answer(travel, silent());
        case PodHealth::starting:
        case PodHealth::draining:
          return answer(travel, not_ready());
      }
    });
  }

 private:
  Scene& scene_;
  activator::PoolProbe::Done done_;  // null: answered
  Lifetime alive_;
};

}  // namespace

std::unique_ptr<activator::PodAsker::Question> SimulatedAsker::ask(
    net::UpstreamPool& pool, activator::PoolProbeRequest request, activator::PoolProbe::Done done) {
  auto probe = std::make_unique<SimulatedProbe>(scene_, std::move(done));
  SimulatedPod* const pod = platform_.at(pool.target().text());
  const Duration round_trip = scene_.timeline.draw(scene_.world.travel) * 2;
  if (pod == nullptr || pod->gone()) {
    // Refused by the host, or swallowed because the host is gone too.
    const bool swallowed = scene_.timeline.happens(0.2);
    probe->answer(swallowed ? request.connect_timeout : round_trip, silent());
  } else if (scene_.strikes(scene_.world.faults.share_silent_probes)) {
    probe->answer(std::min(request.connect_timeout, request.response_timeout), silent());
  } else if (pod->health() == PodHealth::starting) {
    probe->wait(*pod, request.response_timeout);
  } else {
    probe->answer(round_trip, pod->health() == PodHealth::ready ? passed() : not_ready());
  }
  return probe;
}

void NotedPods::show(activator::RevisionHandle revision) {
  std::vector<Ledger::Listed> list;
  for (const auto& [dest, avoid] : listed_[revision]) list.push_back({dest, avoid});
  ledger_.list(door_of_(revision), list);
}

void NotedPods::list_pod(activator::RevisionHandle revision, const PodId& pod, bool avoid,
                         std::int32_t capacity) {
  listed_[revision][pod.name] = avoid;
  show(revision);
  front_.list_pod(revision, pod, avoid, capacity);
}

void NotedPods::unlist_pod(activator::RevisionHandle revision, const PodId& pod) {
  if (listed_[revision].erase(pod.name) > 0) show(revision);
  front_.unlist_pod(revision, pod);
}

void NotedPods::forget_pod(activator::RevisionHandle revision, const PodId& pod) {
  if (listed_[revision].erase(pod.name) > 0) show(revision);
  front_.forget_pod(revision, pod);
}

void NotedPods::trust_pod(activator::RevisionHandle revision, const PodId& pod) {
  ledger_.trusted(door_of_(revision), pod.name);
  front_.trust_pod(revision, pod);
}

}  // namespace sluice::simulation
