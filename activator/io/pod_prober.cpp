#include "activator/io/pod_prober.h"

#include "common/base/check.h"

#include <boost/asio/post.hpp>

#include <algorithm>

namespace sluice::activator {

namespace {

std::string probe_head(const std::string& host) {
  return "GET /healthz HTTP/1.1\r\nHost: " + host +
         "\r\nUser-Agent: Knative-Activator-Probe\r\nK-Network-Probe: queue\r\n\r\n";
}

ProbeResult result_of(const net::PoolProbeResult& result) {
  if (result.end == net::PoolProbeResult::End::answered) {
    return judge_probe(result.status, result.body, !result.sluice_error.empty());
  }
  return result.end == net::PoolProbeResult::End::invalid ? ProbeResult::not_ready
                                                          : ProbeResult::silent;
}

std::chrono::milliseconds milliseconds(Duration duration) {
  return std::chrono::ceil<std::chrono::milliseconds>(duration);
}

}  // namespace

// The pods of one revision.
struct PodProber::Watch {
  struct Pod {
    std::string name;
    bool ready = false;
    bool fast_ready = true;
    bool suspected = false;
    std::unique_ptr<net::UpstreamPool> probed_in_clear;  // only where requests are encrypted
  };

  Watch(RevisionHandle own, std::int32_t limit, const DestinationsSpec& spec)
      : revision{own}, container_concurrency{limit}, destinations{spec} {}

  RevisionHandle revision;
  std::int32_t container_concurrency;
  Destinations destinations;
  std::map<std::string, Pod, std::less<>> pods;  // by dest
  std::set<std::string, std::less<>> usable;     // of them, those whose sidecar answers
  std::set<std::string, std::less<>> listed;     // of them, this activator's
  std::set<std::string, std::less<>> avoid;      // as told; may name pods that are not here
  bool whole = true;                             // all that are usable are listed
  std::optional<TimePoint> due;
};

// One probe under way.
struct PodProber::Run {
  RevisionHandle revision{};
  std::uint64_t number = 0;
  std::string dest;
  std::unique_ptr<net::PoolProbe> probe;
};

PodProber::PodProber(boost::asio::io_context& io, const Clock& clock, FrontGateway& front,
                     const ProberSpec& spec, ProberEvents events)
    : io_{io}, clock_{clock}, front_{front}, spec_{spec}, events_{std::move(events)}, timer_{io} {}

PodProber::~PodProber() {
  *alive_ = false;
}

PodProber::Watch* PodProber::find(RevisionHandle revision) const {
  const std::size_t index = index_of(revision);
  Watch* watch = index < watches_.size() ? watches_[index].watch.get() : nullptr;
  return watch != nullptr && watch->revision == revision ? watch : nullptr;
}

PodProber::Watch& PodProber::watch_of(RevisionHandle revision) {
  Place& place = watches_.at(index_of(revision));
  if (!place.watch) {
    place.watch = std::make_unique<Watch>(revision, place.container_concurrency,
                                          DestinationsSpec{.probe_timeout = spec_.probe_timeout,
                                                           .probe_gap_max = spec_.probe_gap_max});
  }
  return *place.watch;
}

void PodProber::add(RevisionHandle revision, std::int32_t container_concurrency) {
  const std::size_t index = index_of(revision);
  if (watches_.size() <= index) watches_.resize(index + 1);
  watches_[index].container_concurrency = container_concurrency;
  watches_[index].among.reset();
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
  Watch* watch = find(revision);
  if (watch == nullptr) return;
  if (watch->due) due_.erase({*watch->due, index_of(revision)});
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
  for (const std::string& dest : gone) drop(watch, dest, now);
  for (const PlatformPod& pod : pods) take(watch, pod, now);
  if (first && events_.on_pod_seen) events_.on_pod_seen(revision);
  pump(watch);
}

void PodProber::drop(Watch& watch, const std::string& dest, TimePoint now) {
  DestinationChanges changes;
  watch.destinations.remove_pod(dest, now, changes);
  apply(watch, changes);
  for (auto run = runs_.begin(); run != runs_.end();) {
    if (run->second->revision != watch.revision || run->second->dest != dest) {
      ++run;
      continue;
    }
    DestinationChanges none;
    watch.destinations.probed(run->second->number, ProbeResult::silent, now, Duration{0}, none);
    run = runs_.erase(run);
  }
  front_.forget_pod(watch.revision, PodId{dest});
  const auto pod = watch.pods.find(dest);
  if (std::unique_ptr<net::UpstreamPool> pool = std::move(pod->second.probed_in_clear)) {
    pool->close();
    leaving_.push_back(std::move(pool));
  }
  watch.pods.erase(pod);
}

// Reads of connections that were closed are answered by the loop, and must find their pool then.
void PodProber::sweep() {
  std::erase_if(leaving_, [](const auto& pool) { return pool->at_rest(); });
}

void PodProber::take(Watch& watch, const PlatformPod& pod, TimePoint now) {
  const auto found = watch.pods.find(pod.dest);
  if (found != watch.pods.end() && found->second.ready == pod.ready &&
      found->second.fast_ready == pod.fast_ready) {
    return;
  }
  if (found == watch.pods.end()) {
    FrontPod known{.id = PodId{pod.dest}, .address = pod.address};
    known.host = pod.address.is_unix() ? pod.name : pod.dest;
    if (door_) known.tls = door_(watch.revision, known.address);
    front_.know_pod(watch.revision, known);
    Watch::Pod& kept = watch.pods[pod.dest];
    kept.name = pod.name;
    if (known.tls.h1 != nullptr || known.tls.h2 != nullptr) {
      kept.probed_in_clear =
          std::make_unique<net::UpstreamPool>(io_, pod.address, net::UpstreamLimits{.idle_max = 1});
    }
  }
  Watch::Pod& told = watch.pods.find(pod.dest)->second;
  told.ready = pod.ready;
  told.fast_ready = pod.fast_ready;
  DestinationChanges changes;
  watch.destinations.set_pod(pod.dest, pod.ready, now, changes, pod.fast_ready);
  apply(watch, changes);
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
  const auto found = watch->pods.find(pod.name);
  if (found == watch->pods.end() || !watch->usable.contains(pod.name)) return;
  found->second.suspected = true;
  watch->destinations.suspect(pod.name, clock_.now());
  // Not now: whoever calls is in the middle of a request.
  schedule(*watch);
}

void PodProber::apply(Watch& watch, const DestinationChanges& changes) {
  if (changes.empty()) return;
  const bool had = !watch.usable.empty();
  const bool whole = watch.whole && takes_all(watch);
  for (const DestinationChange& change : changes) {
    if (change.kind == DestinationChange::Kind::pod_usable) {
      watch.usable.insert(change.dest);
      if (!had && events_.on_pod_usable) events_.on_pod_usable(watch.revision);
      if (whole) list(watch, change.dest);
    } else if (change.kind == DestinationChange::Kind::pod_gone) {
      watch.usable.erase(change.dest);
      if (whole) unlist(watch, change.dest);
    }
  }
  if (!whole || !takes_all(watch)) assign(watch);
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

void PodProber::pump(Watch& watch) {
  while (const auto probe = watch.destinations.next_probe(clock_.now())) start(watch, *probe);
  schedule(watch);
}

void PodProber::start(Watch& watch, const Probe& probe) {
  CHECK(!probe.cluster_ip);
  const Watch::Pod& pod = watch.pods.at(probe.dest);
  net::UpstreamPool* pool = pod.probed_in_clear ? pod.probed_in_clear.get()
                                                : front_.pool_of(watch.revision, PodId{probe.dest});
  CHECK(pool != nullptr);
  const std::uint64_t id = next_run_++;
  auto run = std::make_unique<Run>();
  run->revision = watch.revision;
  run->number = probe.number;
  run->dest = probe.dest;
  net::PoolProbeRequest request;
  request.head = probe_head(pool->target().is_unix() ? pod.name : probe.dest);
  request.connect_timeout = milliseconds(probe.connect_timeout);
  request.response_timeout = milliseconds(probe.answer_timeout);
  run->probe = std::make_unique<net::PoolProbe>(
      io_, *pool, std::move(request),
      [this, id](const net::PoolProbeResult& result) { ended(id, result); });
  runs_.emplace(id, std::move(run));
}

void PodProber::ended(std::uint64_t id, const net::PoolProbeResult& probed) {
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
  apply(*watch, changes);
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

PodProber::Pods PodProber::pods(RevisionHandle revision) const {
  const Watch* watch = find(revision);
  if (watch == nullptr) return {};
  return {watch->pods.size(), watch->usable.size(), watch->listed.size()};
}

void PodProber::schedule(Watch& watch) {
  const std::optional<TimePoint> due = watch.destinations.next_due();
  if (due == watch.due) return;
  const std::size_t index = index_of(watch.revision);
  if (watch.due) due_.erase({*watch.due, index});
  watch.due = due;
  if (!due) return;
  due_.emplace(*due, index);
  arm();
}

void PodProber::arm() {
  if (due_.empty()) return;
  const TimePoint first = due_.begin()->first;
  if (armed_ && *armed_ <= first) return;
  armed_ = first;
  timer_.expires_after(std::max(Duration{0}, first - clock_.now()));
  timer_.async_wait([this, alive = alive_](const boost::system::error_code& ec) {
    if (!*alive || ec) return;
    armed_.reset();
    on_due();
    arm();
  });
}

void PodProber::on_due() {
  const TimePoint now = clock_.now();
  while (!due_.empty() && due_.begin()->first <= now) {
    const auto [when, index] = *due_.begin();
    due_.erase(due_.begin());
    Watch& watch = *watches_[index].watch;
    watch.due.reset();
    pump(watch);
    // With all its probes under way nothing starts until one of them ends, which pumps again.
    if (watch.due && *watch.due <= now) {
      due_.erase({*watch.due, index});
      watch.due.reset();
    }
  }
}

}  // namespace sluice::activator
