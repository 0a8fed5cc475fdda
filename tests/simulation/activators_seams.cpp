#include "tests/simulation/activators_seams.h"

#include "common/base/lifetime.h"

#include <utility>

namespace sluice::simulation {

namespace {

using autoscaler::ScrapeError;
using autoscaler::Stat;

constexpr Duration kScrapeTimeout = std::chrono::milliseconds{900};

class SimulatedQuestion final : public autoscaler::StatSource::Question {
 public:
  SimulatedQuestion(Scene& scene, Duration wait, std::function<Result<Stat, ScrapeError>()> answer,
                    autoscaler::StatSource::Answered answered) {
    scene.timeline.after(
        wait, [alive = alive_.watch(), answer = std::move(answer), answered = std::move(answered)] {
          if (!alive.over()) answered(answer());
        });
  }

 private:
  Lifetime alive_;
};

}  // namespace

autoscaler::WatchedRevision watched(const ActivatorsWorld& world, const Platform& platform,
                                    std::size_t revision) {
  autoscaler::WatchedRevision seen;
  seen.id = Platform::id(revision);
  seen.service = seen.id.name;
  seen.container_concurrency = world.container_concurrency;
  seen.annotations = world.annotations;
  for (const PodLine& line : platform.pods(revision)) {
    seen.pods.push_back({.id = {line.name},
                         .address = line.dest,
                         .stats = line.dest,
                         .ready = line.ready,
                         .terminating = line.terminating});
  }
  return seen;
}

std::optional<autoscaler::ScaleOrder> SimulatedSink::last(const RevisionId& revision) {
  const std::optional<ScaleLine>& line = platform_.scale(*platform_.index_of(revision));
  if (!line) return std::nullopt;
  autoscaler::ScaleOrder order{.replicas = line->replicas};
  for (const std::string& name : line->remove) order.remove.push_back({name});
  return order;
}

void SimulatedSink::apply(const RevisionId& revision, const autoscaler::ScaleOrder& order) {
  const std::size_t index = *platform_.index_of(revision);
  ScaleLine line{.replicas = order.replicas};
  for (const PodId& pod : order.remove) line.remove.push_back(pod.name);
  const std::optional<ScaleLine> before = platform_.scale(index);
  if (line == before) return;
  ordered_(index, before, line);
  platform_.write_scale(index, std::move(line));
}

void SimulatedSink::forget(const RevisionId& /*revision*/) {}

void SimulatedSink::probe(const RevisionId& /*revision*/, std::function<void(bool ok)> done) {
  done(true);
}

std::unique_ptr<autoscaler::StatSource::Question> SimulatedStats::ask(const std::string& address,
                                                                      Answered answered) {
  const bool lost = scene_.strikes(scene_.world.faults.share_lost_scrapes);
  const Duration wait = lost ? kScrapeTimeout : scene_.timeline.draw(scene_.world.travel) * 2;
  const auto answer = [this, address, lost]() -> Result<Stat, ScrapeError> {
    SimulatedPod* const pod = platform_.at(address);
    if (lost || pod == nullptr || pod->gone()) return ScrapeError::unreachable;
    const load::LoadReport seen = pod->report();
    return Stat{seen.average_concurrency, seen.average_proxied_concurrency, seen.request_count,
                seen.proxied_request_count};
  };
  return std::make_unique<SimulatedQuestion>(scene_, wait, answer, std::move(answered));
}

}  // namespace sluice::simulation
