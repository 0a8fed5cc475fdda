// What the platform says of pods, and which of them the gateway gets.

#include "activator/io/prober_state.h"
#include "common/base/check.h"

#include <algorithm>

namespace sluice::activator {

PodProber::PodProber(boost::asio::io_context& io, Loop& clock, PodList& front, PodAsker& asker,
                     const ProberSpec& spec, ProberEvents events)
    : io_{io},
      clock_{clock},
      front_{front},
      asker_{asker},
      spec_{spec},
      events_{std::move(events)},
      due_{clock, [this](std::size_t index, TimePoint now) { on_due(index, now); }} {}

PodProber::~PodProber() = default;

PodProber::Watch* PodProber::find(RevisionHandle revision) const {
  const std::size_t index = index_of(revision);
  Watch* watch = index < watches_.size() ? watches_[index].watch.get() : nullptr;
  return watch != nullptr && watch->revision == revision ? watch : nullptr;
}

PodProber::Watch& PodProber::watch_of(RevisionHandle revision) {
  Place& place = watches_.at(index_of(revision));
  if (!place.watch) {
    place.watch =
        std::make_unique<Watch>(revision, place.container_concurrency,
                                DestinationsSpec{.mode = spec_.mesh,
                                                 .passthrough_lb = spec_.pod_addressability,
                                                 .probe_timeout = spec_.probe_timeout,
                                                 .probe_gap_max = spec_.probe_gap_max});
    follow_service(*place.watch);
  }
  return *place.watch;
}

void PodProber::add(RevisionHandle revision, std::int32_t container_concurrency) {
  const std::size_t index = index_of(revision);
  if (watches_.size() <= index) watches_.resize(index + 1);
  watches_[index].container_concurrency = container_concurrency;
  watches_[index].among.reset();
  watches_[index].service.reset();
}

void PodProber::set_limit(RevisionHandle revision, std::int32_t container_concurrency) {
  watches_.at(index_of(revision)).container_concurrency = container_concurrency;
  front_.set_pod_limit(revision, container_concurrency);
  Watch* watch = find(revision);
  if (watch == nullptr) return;
  watch->container_concurrency = container_concurrency;
  for (const std::string& dest : watch->listed) {
    front_.list_pod(revision, PodId{dest}, watch->avoid.contains(dest));
  }
  assign(*watch);
}

void PodProber::remove(RevisionHandle revision) {
  set_pods(revision, {});
  set_service(revision, std::nullopt);
  Watch* watch = find(revision);
  if (watch == nullptr) return;
  due_.set(index_of(revision), std::nullopt);
  watches_[index_of(revision)].watch.reset();
}

void PodProber::set_pods(RevisionHandle revision, std::span<const PlatformPod> pods) {
  if (pods.empty() && find(revision) == nullptr) return;
  Watch& watch = watch_of(revision);
  const TimePoint now = clock_.now();
  const bool first = watch.pods.empty() && !pods.empty();
  std::unordered_map<std::string_view, const PlatformPod*> wanted;
  for (const PlatformPod& pod : pods) wanted.emplace(pod.dest, &pod);
  std::vector<std::string> gone;
  for (const auto& [dest, pod] : watch.pods) {
    const auto found = wanted.find(dest);
    if (found == wanted.end() || found->second->name != pod.name) gone.push_back(dest);
  }
  // Newcomers first, so that there is no moment without a pod; but one at an address that has
  // changed hands is another pod.
  const auto replaced = [&wanted](const std::string& dest) { return wanted.contains(dest); };
  const auto left = std::partition(gone.begin(), gone.end(), replaced);
  for (auto dest = gone.begin(); dest != left; ++dest) drop(watch, *dest, now);
  for (const PlatformPod& pod : pods) take(watch, pod, now);
  for (auto dest = left; dest != gone.end(); ++dest) drop(watch, *dest, now);
  if (watch.pods.empty() && watch.service) forget_service(watch);
  if (first && events_.on_pod_seen) events_.on_pod_seen(revision);
  pump(watch);
}

void PodProber::drop(Watch& watch, const std::string& dest, TimePoint now) {
  DestinationChanges changes;
  watch.destinations.remove_pod(dest, now, changes);
  apply(watch, changes);
  end_runs(watch, dest, now);
  front_.forget_pod(watch.revision, PodId{dest});
  const auto pod = watch.pods.find(dest);
  leave(std::move(pod->second.probed_in_clear));
  watch.pods.erase(pod);
}

void PodProber::leave(std::unique_ptr<net::UpstreamPool> pool) {
  if (!pool) return;
  pool->close();
  leaving_.push_back(std::move(pool));
}

// Reads of connections that were closed are answered by the loop, and must find their pool then.
void PodProber::sweep() {
  std::erase_if(leaving_, [](const auto& pool) { return pool->at_rest(); });
}

void PodProber::take(Watch& watch, const PlatformPod& pod, TimePoint now) {
  const auto found = watch.pods.find(pod.dest);
  if (found != watch.pods.end() && found->second.word == pod.word) return;
  if (found == watch.pods.end()) {
    FrontPod known{.id = PodId{pod.dest}, .address = pod.address};
    known.host = host_of(watch.revision, pod.address, pod.name);
    Watch::Pod& kept = watch.pods[pod.dest];
    kept.name = pod.name;
    kept.probed_in_clear = know(watch.revision, std::move(known));
  }
  watch.pods.find(pod.dest)->second.word = pod.word;
  DestinationChanges changes;
  watch.destinations.set_pod(pod.dest, pod.word, now, changes);
  apply(watch, changes);
}

void PodProber::set_service(RevisionHandle revision, std::optional<net::Address> service,
                            std::uint16_t tls_port) {
  if (door_ && tls_port == 0) service.reset();
  Place& place = watches_.at(index_of(revision));
  if (place.service == service && place.service_tls_port == tls_port) return;
  place.service = std::move(service);
  place.service_tls_port = tls_port;
  Watch* watch = find(revision);
  if (watch == nullptr) return;
  follow_service(*watch);
  pump(*watch);
}

void PodProber::follow_service(Watch& watch) {
  DestinationChanges changes;
  watch.destinations.set_cluster_ip(std::nullopt, clock_.now(), changes);
  apply(watch, changes);
  if (watch.service) forget_service(watch);
  watch.service.reset();
  const std::optional<net::Address>& address = watches_[index_of(watch.revision)].service;
  if (!address) return;
  watch.service.emplace().dest = address->text();
  changes.clear();
  watch.destinations.set_cluster_ip(watch.service->dest, clock_.now(), changes);
  CHECK(changes.empty());  // it is asked first
}

// What its probes and requests took; it is made again when it is asked again.
void PodProber::forget_service(Watch& watch) {
  ProbedService& service = *watch.service;
  end_runs(watch, service.dest, clock_.now());
  if (std::exchange(service.known, false)) front_.forget_pod(watch.revision, {service.dest});
  leave(std::move(service.probed_in_clear));
}

void PodProber::list_service(Watch& watch) {
  front_.list_pod(watch.revision, {watch.service->dest}, false,
                  shared_capacity(watch.container_concurrency, watch.service->backends,
                                  place(watch.revision).activators));
}

// Who may be used again first: otherwise the waiting would find for a moment that all are to be
// avoided, and go to one of those.
void PodProber::set_avoid(RevisionHandle revision, std::span<const std::string> dests) {
  if (dests.empty() && find(revision) == nullptr) return;
  Watch& watch = watch_of(revision);
  std::set<std::string, std::less<>> avoid{dests.begin(), dests.end()};
  avoid.swap(watch.avoid);
  for (const bool avoided : {false, true}) {
    for (const std::string& dest : watch.listed) {
      const bool now = watch.avoid.contains(dest);
      if (now == avoided && now != avoid.contains(dest)) front_.list_pod(revision, {dest}, now);
    }
  }
}

void PodProber::set_place(const ActivatorPlace& place) {
  if (place == place_) return;
  place_ = place;
  for (const Place& entry : watches_) {
    if (entry.watch && !entry.among) assign(*entry.watch);
  }
}

void PodProber::set_place(RevisionHandle revision, const ActivatorPlace& place) {
  Place& entry = watches_.at(index_of(revision));
  if (entry.among == place) return;
  entry.among = place;
  if (entry.watch) assign(*entry.watch);
}

const ActivatorPlace& PodProber::place(RevisionHandle revision) const {
  const std::optional<ActivatorPlace>& among = watches_.at(index_of(revision)).among;
  return among ? *among : place_;
}

void PodProber::suspect(RevisionHandle revision, const PodId& pod) {
  Watch* watch = find(revision);
  if (watch == nullptr) return;
  if (watch->service && watch->service->dest == pod.name) {
    watch->destinations.suspect_cluster_ip(clock_.now());
    return schedule(*watch);
  }
  const auto found = watch->pods.find(pod.name);
  if (found == watch->pods.end() || !watch->usable.contains(pod.name)) return;
  found->second.suspected = true;
  watch->destinations.suspect(pod.name, clock_.now());
  // Not now: the caller is in the middle of a request.
  schedule(*watch);
}

void PodProber::apply(Watch& watch, const DestinationChanges& changes) {
  if (changes.empty()) return;
  bool served = !watch.usable.empty() || (watch.service && watch.service->backends > 0);
  const auto serve = [&] {
    if (!std::exchange(served, true) && events_.on_pod_usable) {
      events_.on_pod_usable(watch.revision);
    }
  };
  const bool whole = watch.whole && takes_all(watch);
  std::optional<std::string> left;  // the private Service
  for (const DestinationChange& change : changes) {
    if (change.kind == DestinationChange::Kind::pod_usable) {
      watch.usable.insert(change.dest);
      serve();
      if (whole) list(watch, change.dest);
    } else if (change.kind == DestinationChange::Kind::pod_gone) {
      watch.usable.erase(change.dest);
      if (whole) unlist(watch, change.dest);
    } else if (change.kind == DestinationChange::Kind::cluster_ip) {
      watch.service->backends = change.backends;
      serve();
      list_service(watch);
    } else {
      watch.service->backends = 0;
      left = change.dest;
    }
  }
  if (!whole || !takes_all(watch)) assign(watch);
  // Only now, so that there is no moment without a pod.
  if (left) front_.unlist_pod(watch.revision, {*left});
}

bool PodProber::takes_all(const Watch& watch) const {
  const ActivatorPlace& mine = place(watch.revision);
  return watch.container_concurrency == 0 || mine.activators <= 1 || mine.index < 0 ||
         watch.usable.size() <= 1;
}

// Newcomers first, so that the last of those that go is not the last there is.
void PodProber::assign(Watch& watch) {
  watch.whole = takes_all(watch);
  std::vector<std::string> mine{watch.usable.begin(), watch.usable.end()};
  if (!watch.whole)
    mine = assigned_of(std::move(mine), place(watch.revision), watch.container_concurrency);
  std::vector<std::string> gone;
  std::set_difference(watch.listed.begin(), watch.listed.end(), mine.begin(), mine.end(),
                      std::back_inserter(gone));
  for (const std::string& dest : mine) {
    if (!watch.listed.contains(dest)) list(watch, dest);
  }
  for (const std::string& dest : gone) unlist(watch, dest);
  if (watch.service && watch.service->backends > 0) list_service(watch);
}

void PodProber::list(Watch& watch, const std::string& dest) {
  if (!watch.listed.insert(dest).second) return;
  ++listed_;
  front_.list_pod(watch.revision, PodId{dest}, watch.avoid.contains(dest));
}

void PodProber::unlist(Watch& watch, const std::string& dest) {
  if (watch.listed.erase(dest) == 0) return;
  --listed_;
  front_.unlist_pod(watch.revision, PodId{dest});
}

PodProber::Pods PodProber::pods(RevisionHandle revision) const {
  const Watch* watch = find(revision);
  if (watch == nullptr) return {};
  return {watch->pods.size(), watch->usable.size(), watch->listed.size()};
}

}  // namespace sluice::activator
