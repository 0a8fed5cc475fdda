#include "activator/core/destinations.h"

#include "common/base/check.h"

#include <algorithm>
#include <utility>

namespace sluice::activator {

namespace {

using namespace std::chrono_literals;
using Kind = DestinationChange::Kind;

// The wait after the first failure: a container that has just been started opens its port within
// milliseconds of the sidecar's.
constexpr Duration kGapMin = 10ms;

// Who has waited for a pod so long waits for its next probe this part of it, and no longer: a pod
// is used at most so much later than it could be, however long it takes to start.
constexpr int kGapPart = 16;

// Of so many pods each gets its probe in the least gap; of more, each gets fewer.
constexpr std::size_t kPodsPerGap = 32;

// What a round trip allows for on top of the fixed limits: resolving, the handshake and the answer.
constexpr int kRoundTrips = 4;

// Silence doubles the next limit up to this many times, so that a pod behind a slow link is reached
// at all before its round trip is known (issue 14202 of the reference).
constexpr int kDoublingsMax = 3;

}  // namespace

std::optional<MeshMode> parse_mesh_mode(std::string_view name) {
  if (name == "auto") {
    return MeshMode::automatic;
  }
  if (name == "enabled") {
    return MeshMode::enabled;
  }
  return name == "disabled" ? std::optional<MeshMode>(MeshMode::disabled) : std::nullopt;
}

ProbeResult judge_probe(int status, std::string_view body, bool has_sluice_error) {
  if (status == 200 && body == "queue") {
    return ProbeResult::passed;
  }
  const bool mesh_status = status == 502 || status == 503;
  return mesh_status && !has_sluice_error ? ProbeResult::mesh_like : ProbeResult::not_ready;
}

void Destinations::set_pod(std::string_view dest, const PodWord& said, TimePoint now,
                           DestinationChanges& changes) {
  const PodWord word{.ready = said.ready,
                     .fast_ready = said.fast_ready && spec_.fast_ready,
                     .proven = said.proven && said.ready && spec_.mode != MeshMode::enabled};
  auto found = pods_.find(dest);
  const bool is_new = found == pods_.end();
  if (is_new) {
    found = pods_.emplace(std::string(dest), Pod{}).first;
  } else if (found->second.word == word) {
    return;
  }
  Entry& entry = *found;
  Pod& pod = entry.second;
  const PodWord before = std::exchange(pod.word, word);
  ready_ += word.ready ? 1U : 0U;
  ready_ -= before.ready ? 1U : 0U;
  if (word.ready && !before.ready) {
    // What it said while it started tells nothing of a mesh.
    pod.last.reset();
    pod.silences = 0;
  }
  pod.failing_since.reset();  // whatever it was that failed, this is news of it
  if (word.ready && spec_.mode == MeshMode::disabled) {
    pod.checking = false;
    use(entry, true, changes);
  } else if (word.proven && !before.proven) {
    passed(entry, now, changes);
  } else if (!word.ready && pod.usable && !word.fast_ready) {
    use(entry, false, changes);
  } else if (!word.ready && pod.usable) {
    pod.checking = true;
  }
  count(pod);
  if (pod.probe == 0) {
    const TimePoint due = cluster_healthy_ && !is_new ? pod.due.value_or(now + kPodsAgain) : now;
    schedule(entry, wants_probe(pod) ? std::optional<TimePoint>(due) : std::nullopt);
  }
  settle(now, changes);
}

void Destinations::remove_pod(std::string_view dest, TimePoint now, DestinationChanges& changes) {
  if (const auto found = pods_.find(dest); found != pods_.end()) {
    drop(found, changes);
    settle(now, changes);
  }
}

void Destinations::set_pods(const std::vector<std::pair<std::string, bool>>& pods, TimePoint now,
                            DestinationChanges& changes) {
  std::set<std::string_view> named;
  for (const auto& [dest, ready] : pods) {
    named.insert(dest);
  }
  for (auto next = pods_.begin(); next != pods_.end();) {
    const auto pod = next++;
    if (!named.contains(pod->first)) {
      drop(pod, changes);
    }
  }
  for (const auto& [dest, ready] : pods) {
    set_pod(dest, {.ready = ready}, now, changes);
  }
  settle(now, changes);
}

void Destinations::set_cluster_ip(std::optional<std::string> dest, TimePoint now,
                                  DestinationChanges& changes) {
  if (dest == cluster_ip_) {
    return;
  }
  cluster_ip_ = std::move(dest);
  if (cluster_healthy_) {
    leave_cluster_ip(now);
  }
  cluster_probe_ = 0;  // the answer to a probe under way is of the old one
  cluster_due_.reset();
  cluster_failing_since_.reset();
  settle(now, changes);
}

void Destinations::suspect(std::string_view dest, TimePoint now) {
  const auto found = pods_.find(dest);
  if (found == pods_.end() || !found->second.usable || found->second.checking) {
    return;
  }
  found->second.checking = true;
  if (found->second.probe == 0) {
    schedule(*found, now);
  }
}

void Destinations::suspect_cluster_ip(TimePoint now) {
  if (!cluster_healthy_ || cluster_checking_) {
    return;
  }
  cluster_checking_ = true;
  cluster_silences_ = 0;
  cluster_due_ = now;
}

std::optional<Probe> Destinations::next_probe(TimePoint now) {
  if (under_way_.size() >= kProbesMax) {
    return std::nullopt;
  }
  if (cluster_due_ && *cluster_due_ <= now && cluster_ip_) {
    cluster_due_.reset();
    cluster_probe_ = next_number_++;
    under_way_.emplace(cluster_probe_, std::string());
    return Probe{.number = cluster_probe_,
                 .dest = *cluster_ip_,
                 .cluster_ip = true,
                 .connect_timeout = spec_.probe_timeout,
                 .answer_timeout = spec_.probe_timeout};
  }
  if (due_.empty() || due_.begin()->first > now) {
    return std::nullopt;
  }
  Entry& entry = *pods_.find(due_.begin()->second);
  schedule(entry, std::nullopt);
  Probe probe = probe_of(entry.first, entry.second);
  probe.number = next_number_++;
  entry.second.probe = probe.number;
  under_way_.emplace(probe.number, entry.first);
  return probe;
}

std::optional<TimePoint> Destinations::next_due() const {
  if (under_way_.size() >= kProbesMax) {
    return std::nullopt;
  }
  std::optional<TimePoint> next = cluster_due_;
  if (!due_.empty()) {
    next = next ? std::min(*next, due_.begin()->first) : due_.begin()->first;
  }
  return next;
}

void Destinations::probed(std::uint64_t number, ProbeResult result, TimePoint now,
                          Duration round_trip, DestinationChanges& changes) {
  const auto known = under_way_.find(number);
  CHECK(known != under_way_.end());
  const std::string dest = known->second;
  under_way_.erase(known);
  if (number == cluster_probe_) {
    cluster_probed(result, now);
  } else if (const auto found = pods_.find(dest);
             found != pods_.end() && found->second.probe == number) {
    Pod& pod = found->second;
    pod.probe = 0;
    pod.last = result;
    pod.round_trip = round_trip > Duration::zero() ? round_trip : pod.round_trip;
    result == ProbeResult::passed ? passed(*found, now, changes)
                                  : failed(*found, result, now, changes);
    count(pod);
  }
  settle(now, changes);
}

bool Destinations::wants_probe(const Pod& pod) const {
  if (spec_.mode == MeshMode::enabled) {
    return false;
  }
  return pod.usable ? pod.checking : pod.word.ready || pod.word.fast_ready;
}

bool Destinations::wants_cluster_ip() const {
  if (!cluster_ip_ || ready_ == 0 || spec_.passthrough_lb || cluster_healthy_) {
    return false;
  }
  const bool unreachable = usable_ == 0 && pod_voices_ == 0 && mesh_voices_ > 0;
  return spec_.mode == MeshMode::enabled || (spec_.mode == MeshMode::automatic && unreachable);
}

Destinations::Voice Destinations::voice_of(const Pod& pod) const {
  if (!pod.usable && !wants_probe(pod)) {
    return Voice::none;
  }
  const bool silent = pod.last == ProbeResult::silent && pod.silences >= kSilencesOfLast;
  const bool mesh = !pod.usable && (silent || pod.last == ProbeResult::mesh_like);
  return mesh ? Voice::mesh : Voice::pods;
}

Duration Destinations::gap_after(Duration failing) const {
  const Duration least = kGapMin * (1 + (due_.size() + under_way_.size()) / kPodsPerGap);
  return std::min(std::max(failing / kGapPart, least), spec_.probe_gap_max);
}

Probe Destinations::probe_of(const std::string& dest, const Pod& pod) const {
  Duration limit = spec_.probe_timeout;
  for (int i = 0; i < std::min(pod.silences, kDoublingsMax); ++i) {
    limit *= 2;
  }
  limit += kRoundTrips * pod.round_trip;
  const bool held = !pod.usable && under_way_.size() < kProbesMax / 2;
  return {
      .dest = dest, .connect_timeout = limit, .answer_timeout = held ? limit + kHeldMax : limit};
}

void Destinations::schedule(Entry& entry, std::optional<TimePoint> due) {
  Pod& pod = entry.second;
  if (pod.due) {
    due_.erase({*pod.due, entry.first});
  }
  pod.due = due;
  if (due) {
    due_.emplace(*due, entry.first);
  }
}

void Destinations::use(Entry& entry, bool usable, DestinationChanges& changes) {
  Pod& pod = entry.second;
  if (pod.usable == usable) {
    return;
  }
  pod.usable = usable;
  pod.checking = false;
  usable_ += usable ? 1U : 0U;
  usable_ -= usable ? 0U : 1U;
  changes.push_back({.kind = usable ? Kind::pod_usable : Kind::pod_gone, .dest = entry.first});
}

void Destinations::count(Pod& pod) {
  const Voice now = voice_of(pod);
  const auto counted = [this](Voice voice) -> std::size_t* {
    return voice == Voice::none ? nullptr : voice == Voice::pods ? &pod_voices_ : &mesh_voices_;
  };
  if (std::size_t* before = counted(pod.voice)) {
    --*before;
  }
  if (std::size_t* after = counted(now)) {
    ++*after;
  }
  pod.voice = now;
}

void Destinations::drop(Pods::iterator found, DestinationChanges& changes) {
  schedule(*found, std::nullopt);
  use(*found, false, changes);
  ready_ -= found->second.word.ready ? 1U : 0U;
  mesh_voices_ -= found->second.voice == Voice::mesh ? 1U : 0U;
  pod_voices_ -= found->second.voice == Voice::pods ? 1U : 0U;
  pods_.erase(found);
}

void Destinations::passed(Entry& entry, TimePoint now, DestinationChanges& changes) {
  Pod& pod = entry.second;
  pod.failing_since.reset();
  pod.silences = 0;
  pod.checking = false;
  if (pod.word.ready || pod.word.fast_ready) {
    use(entry, true, changes);
    if (cluster_healthy_) {
      leave_cluster_ip(now);
    }
  }
}

void Destinations::failed(Entry& entry, ProbeResult result, TimePoint now,
                          DestinationChanges& changes) {
  Pod& pod = entry.second;
  if (pod.usable && !pod.checking) {
    return;  // the platform has called it ready meanwhile, and that is enough without a mesh
  }
  const bool answered = result == ProbeResult::not_ready;
  if (!pod.failing_since) pod.failing_since = now;
  pod.silences = answered ? 0 : pod.silences + 1;
  if (pod.usable && (answered || usable_ > 1 || pod.silences >= kSilencesOfLast)) {
    use(entry, false, changes);
  }
  if (wants_probe(pod)) {
    const Duration gap =
        cluster_healthy_ && !answered ? kPodsAgain : gap_after(now - *pod.failing_since);
    schedule(entry, now + gap);
  }
}

void Destinations::cluster_probed(ProbeResult result, TimePoint now) {
  cluster_probe_ = 0;
  if (cluster_checking_) {
    return cluster_checked(result, now);
  }
  if (!wants_cluster_ip()) {
    return;
  }
  if (result != ProbeResult::passed) {
    if (!cluster_failing_since_) cluster_failing_since_ = now;
    cluster_due_ = now + gap_after(now - *cluster_failing_since_);
    return;
  }
  cluster_healthy_ = true;
  for (Entry& entry : pods_) {
    if (entry.second.probe == 0 && wants_probe(entry.second)) {
      schedule(entry, now + kPodsAgain);
    }
  }
}

void Destinations::cluster_checked(ProbeResult result, TimePoint now) {
  if (result == ProbeResult::passed) {
    cluster_checking_ = false;
  } else if (result != ProbeResult::silent || ++cluster_silences_ >= kSilencesOfLast) {
    leave_cluster_ip(now);
  } else {
    cluster_due_ = now + kGapMin;
  }
}

void Destinations::leave_cluster_ip(TimePoint now) {
  cluster_healthy_ = false;
  cluster_checking_ = false;
  for (Entry& entry : pods_) {
    if (entry.second.probe == 0 && wants_probe(entry.second)) {
      schedule(entry, now);
    }
  }
}

// After any event: whether the cluster IP is in question, and what it takes.
void Destinations::settle(TimePoint now, DestinationChanges& changes) {
  if (ready_ == 0 && cluster_healthy_) {
    leave_cluster_ip(now);
  }
  if (!cluster_checking_ && !wants_cluster_ip()) {
    cluster_due_.reset();
    cluster_failing_since_.reset();
  } else if (!cluster_due_ && cluster_probe_ == 0) {
    cluster_due_ = now;
  }
  tell_cluster_ip(changes);
}

void Destinations::tell_cluster_ip(DestinationChanges& changes) {
  std::optional<DestinationChange> now;
  if (cluster_healthy_ && ready_ > 0) {
    now = DestinationChange{.kind = Kind::cluster_ip,
                            .dest = *cluster_ip_,
                            .backends = static_cast<std::int32_t>(ready_)};
  }
  if (now == told_) {
    return;
  }
  if (told_ && (!now || now->dest != told_->dest)) {
    changes.push_back({.kind = Kind::cluster_gone, .dest = told_->dest});
  }
  if (now) {
    changes.push_back(*now);
  }
  told_ = now;
}

}  // namespace sluice::activator
