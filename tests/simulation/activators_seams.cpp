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

model::Revision revision_file(const ActivatorsWorld& world, const Platform& platform,
                              std::size_t revision) {
  model::Revision file;
  file.id = Platform::id(revision);
  file.service = file.id.name;
  file.hosts = {{.host = file.id.name, .path_prefix = {}}};
  file.timeout = world.timeout;
  file.container_concurrency = world.container_concurrency;
  file.annotations = world.annotations;
  for (const PodLine& line : platform.pods(revision)) {
    const net::Address address = *net::parse_address(line.dest);
    file.pods.push_back({.id = {line.name},
                         .address = address,
                         .stats = address,
                         .ready = line.ready,
                         .terminating = line.terminating});
  }
  return file;
}

std::optional<Problem> SimulatedPlatform::open(model::Listener& /*listener*/, TimePoint /*now*/,
                                               Settled settled) {
  settled(std::nullopt);
  return std::nullopt;
}

std::optional<autoscaler::ScaleOrder> SimulatedPlatform::last(const RevisionId& revision) {
  const std::optional<ScaleLine>& line = files_.scale(*files_.index_of(revision));
  if (!line) return std::nullopt;
  autoscaler::ScaleOrder order{.replicas = line->replicas};
  for (const std::string& name : line->remove) order.remove.push_back({name});
  return order;
}

void SimulatedPlatform::apply(const RevisionId& revision, const autoscaler::ScaleOrder& order) {
  const std::size_t index = *files_.index_of(revision);
  ScaleLine line{.replicas = order.replicas};
  for (const PodId& pod : order.remove) line.remove.push_back(pod.name);
  const std::optional<ScaleLine> before = files_.scale(index);
  if (line == before) return;
  ordered_(index, before, line);
  files_.write_scale(index, std::move(line));
}

void SimulatedPlatform::forget(const RevisionId& /*revision*/) {}

void SimulatedPlatform::probe(const RevisionId& /*revision*/, std::function<void(bool ok)> done) {
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
