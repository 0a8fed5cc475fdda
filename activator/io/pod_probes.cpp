// The probes: their connections, times and answers.

#include "activator/core/revision_name.h"
#include "activator/io/prober_state.h"
#include "common/base/check.h"

#include <algorithm>

namespace sluice::activator {

namespace {

std::string probe_head(const std::string& host, bool pod_addressability) {
  return "GET /healthz HTTP/1.1\r\nHost: " + host +
         "\r\nUser-Agent: Knative-Activator-Probe\r\nK-Network-Probe: queue\r\n" +
         (pod_addressability ? "K-Passthrough-Lb: true\r\n\r\n" : "\r\n");
}

ProbeResult result_of(const PoolProbeResult& result) {
  if (result.end == PoolProbeResult::End::answered) {
    return judge_probe(result.status, result.body, !result.sluice_error.empty());
  }
  return result.end == PoolProbeResult::End::invalid ? ProbeResult::not_ready : ProbeResult::silent;
}

std::chrono::milliseconds milliseconds(Duration duration) {
  return std::chrono::ceil<std::chrono::milliseconds>(duration);
}

}  // namespace

std::string PodProber::host_of(RevisionHandle revision, const net::Address& address,
                               const std::string& name) const {
  if (address.is_unix()) return name;
  if (!spec_.pod_addressability) return address.text();
  const RevisionId& id = front_.id_of(revision);
  return private_host({id.space, id.name});
}

// Returns a pool for its probes where requests are encrypted: those never are.
std::unique_ptr<net::UpstreamPool> PodProber::know(RevisionHandle revision, FrontPod pod,
                                                   std::uint16_t service_tls_port) {
  const net::Address in_clear = pod.address;
  if (door_) pod.tls = door_(revision, pod.address);
  const bool encrypted = pod.tls.h1 != nullptr || pod.tls.h2 != nullptr;
  if (encrypted && service_tls_port != 0) pod.address.port = service_tls_port;
  front_.know_pod(revision, pod);
  if (!encrypted) return nullptr;
  return std::make_unique<net::UpstreamPool>(io_, in_clear, net::UpstreamLimits{.idle_max = 1});
}

// Few revisions are ever reached so: what that takes is made with the first probe.
net::UpstreamPool& PodProber::service_pool(Watch& watch) {
  ProbedService& service = *watch.service;
  if (!std::exchange(service.known, true)) {
    const Place& place = watches_[index_of(watch.revision)];
    FrontPod known{.id = {service.dest}, .address = *place.service, .shared = true};
    known.host = service.dest;
    service.probed_in_clear = know(watch.revision, std::move(known), place.service_tls_port);
  }
  return service.probed_in_clear ? *service.probed_in_clear
                                 : *front_.pool_of(watch.revision, {service.dest});
}

net::UpstreamPool& PodProber::pod_pool(Watch& watch, const std::string& dest) {
  const Watch::Pod& pod = watch.pods.at(dest);
  net::UpstreamPool* pool =
      pod.probed_in_clear ? pod.probed_in_clear.get() : front_.pool_of(watch.revision, {dest});
  CHECK(pool != nullptr);
  return *pool;
}

void PodProber::pump(Watch& watch) {
  while (const auto probe = watch.destinations.next_probe(clock_.now())) start(watch, *probe);
  schedule(watch);
}

void PodProber::start(Watch& watch, const Probe& probe) {
  net::UpstreamPool& pool = probe.cluster_ip ? service_pool(watch) : pod_pool(watch, probe.dest);
  const std::string host =
      probe.cluster_ip ? probe.dest
                       : host_of(watch.revision, pool.target(), watch.pods.at(probe.dest).name);
  const std::uint64_t id = next_run_++;
  auto run = std::make_unique<Run>();
  run->revision = watch.revision;
  run->number = probe.number;
  run->dest = probe.dest;
  PoolProbeRequest request;
  request.head = probe_head(host, spec_.pod_addressability);
  request.connect_timeout = milliseconds(probe.connect_timeout);
  request.response_timeout = milliseconds(probe.answer_timeout);
  run->question = asker_.ask(pool, std::move(request),
                             [this, id](const PoolProbeResult& result) { ended(id, result); });
  runs_.emplace(id, std::move(run));
}

void PodProber::ended(std::uint64_t id, const PoolProbeResult& probed) {
  const auto found = runs_.find(id);
  CHECK(found != runs_.end());
  const std::unique_ptr<Run> run = std::move(found->second);
  runs_.erase(found);
  Watch* watch = find(run->revision);
  if (watch == nullptr) return;
  const ProbeResult result = result_of(probed);
  ++(result == ProbeResult::passed   ? counts_.passed
     : result == ProbeResult::silent ? counts_.silent
                                     : counts_.not_ready);
  const net::UpstreamPool* pool = front_.pool_of(run->revision, PodId{run->dest});
  DestinationChanges changes;
  watch->destinations.probed(run->number, result, clock_.now(),
                             pool == nullptr ? Duration{0} : pool->round_trip(), changes);
  const bool doubted =
      watch->service && watch->service->dest == run->dest && watch->service->backends > 0;
  apply(*watch, changes);
  if (doubted && result == ProbeResult::passed) front_.trust_pod(run->revision, {run->dest});
  const auto pod = watch->pods.find(run->dest);
  if (pod != watch->pods.end() && pod->second.suspected) {
    // Silent ones of the last pod are repeated before it goes: the doubt lasts until then.
    pod->second.suspected = result != ProbeResult::passed && watch->usable.contains(run->dest);
    if (result == ProbeResult::passed && watch->listed.contains(run->dest)) {
      front_.trust_pod(run->revision, PodId{run->dest});
    }
  }
  pump(*watch);
}

void PodProber::end_runs(Watch& watch, const std::string& dest, TimePoint now) {
  for (auto run = runs_.begin(); run != runs_.end();) {
    if (run->second->revision != watch.revision || run->second->dest != dest) {
      ++run;
      continue;
    }
    DestinationChanges none;
    watch.destinations.probed(run->second->number, ProbeResult::silent, now, Duration{0}, none);
    run = runs_.erase(run);
  }
}

void PodProber::schedule(Watch& watch) {
  due_.set(index_of(watch.revision), watch.destinations.next_due());
}

void PodProber::on_due(std::size_t index, TimePoint now) {
  Watch& watch = *watches_[index].watch;
  pump(watch);
  // With all its probes under way nothing starts until one of them ends, which pumps again.
  const std::optional<TimePoint> due = watch.destinations.next_due();
  if (due && *due <= now) due_.set(index, std::nullopt);
}

}  // namespace sluice::activator
