#include "activator/core/autoscaler_link.h"

#include "common/ring/hash_ring.h"

#include <algorithm>
#include <utility>
#include <variant>

namespace sluice::activator {
namespace {

constexpr AutoscalerLink::Stream kNoStream = 0;

// What an entry may take on the wire beside its names: six numbers, and the heads of the fields.
constexpr std::size_t kStatRest = 96;
constexpr std::size_t kWaitingRest = 48;

std::size_t size_of(const RevisionId& revision) {
  return revision.space.size() + revision.name.size();
}

std::size_t size_of(const proto::StatMessage& stat) {
  return size_of(stat.revision) + stat.stat.pod_name.size() + kStatRest;
}

std::size_t size_of(const proto::Waiting& waiting) {
  return size_of(waiting.revision) + kWaitingRest;
}

std::int64_t unix_seconds(TimePoint at) {
  return std::chrono::floor<std::chrono::seconds>(at.time_since_epoch()).count();
}

}  // namespace

AutoscalerLink::AutoscalerLink(Self self) : self_(std::move(self)) {}

std::optional<AutoscalerLink::Stream> AutoscalerLink::add() {
  if (peers_.size() >= kStreamsMax) return std::nullopt;
  peers_.emplace(next_stream_, Peer{});
  return next_stream_++;
}

void AutoscalerLink::remove(Stream stream) {
  peers_.erase(stream);
  owners_.clear();
}

void AutoscalerLink::connected(Stream stream, std::span<const proto::Waiting> waiting) {
  Peer* const peer = find(stream);
  if (peer == nullptr) return;
  lost(stream);
  peer->phase = Phase::greeting;
  waiting_.assign(waiting.begin(), waiting.end());
  peer->hello = {proto::kActivatorProtocol, self_.activator, self_.address, self_.version, {}};
  std::size_t bytes = 0;
  for (const proto::Waiting& held : waiting_) {
    bytes += size_of(held);
    if (bytes > kPartBytesMax) break;  // the rest goes with the first batch
    peer->hello->waiting.push_back(held);
  }
  // A fresh session has no record of what was applied.
  for (auto& [revision, held] : held_) {
    if (held.source == stream && !held.state.avoid.empty()) held.confirmed = false;
  }
}

void AutoscalerLink::lost(Stream stream) {
  Peer* const peer = find(stream);
  if (peer == nullptr) return;
  *peer = Peer{};
  owners_.clear();
}

AutoscalerLink::Heard AutoscalerLink::received(Stream stream, proto::AutoscalerMessage message) {
  Heard heard;
  Peer* const peer = find(stream);
  if (peer == nullptr || peer->phase == Phase::down || peer->phase == Phase::refused) return heard;
  const bool is_welcome = std::holds_alternative<proto::Welcome>(message);
  if (is_welcome != (peer->phase == Phase::greeting)) {
    heard.refused = refuse(*peer, is_welcome ? "the autoscaler sent a second Welcome"
                                             : "the autoscaler sent a message before its Welcome");
    return heard;
  }
  if (auto* hail = std::get_if<proto::Welcome>(&message)) {
    welcome(*peer, std::move(*hail), heard);
  } else if (auto* state = std::get_if<proto::RevisionState>(&message)) {
    take_state(stream, *peer, std::move(*state), heard);
  } else if (const auto* gone = std::get_if<proto::RevisionGone>(&message)) {
    take_gone(stream, *peer, *gone, heard);
  } else if (std::holds_alternative<proto::SnapshotEnd>(message)) {
    end_snapshot(stream, *peer, heard);
  } else if (auto* buckets = std::get_if<proto::Buckets>(&message)) {
    take_buckets(*peer, std::move(*buckets));
  }
  return heard;
}

void AutoscalerLink::tick(std::span<const RevisionStat> stats,
                          std::span<const proto::Waiting> waiting, TimePoint now) {
  waiting_.assign(waiting.begin(), waiting.end());
  for (auto& [stream, peer] : peers_) {
    if (peer.phase != Phase::welcomed) continue;
    if (peer.pending.ticked || !peer.parts.empty()) {
      ++counts_.replaced;
      if (peer.pending.ticked) ++peer.sequence;  // a gap that the autoscaler counts
      peer.parts.clear();
    }
    if (peer.pending.ticked) peer.pending.stats.clear();
    peer.pending.due = peer.pending.ticked = true;
  }
  for (const RevisionStat& stat : stats) {
    Peer* const peer = find(owner(stat.revision));
    if (peer == nullptr) {
      ++counts_.unowned;
      continue;
    }
    peer->pending.stats.push_back(stamped(stat, now));
  }
}

void AutoscalerLink::poke(const RevisionStat& stat, proto::Waiting held, TimePoint now) {
  if (waiting_.size() < proto::kWaitingMax) waiting_.push_back(std::move(held));
  Peer* const peer = find(owner(stat.revision));
  if (peer == nullptr) {
    ++counts_.unowned;  // the next batch, or the next Hello, reports it as waiting
    return;
  }
  peer->pending.due = true;
  if (peer->pending.stats.size() < proto::kStatsMax) {
    peer->pending.stats.push_back(stamped(stat, now));
  }
}

void AutoscalerLink::cold_start(proto::ColdStart start) {
  Peer* const peer = find(owner(start.revision));
  if (peer == nullptr) return;
  if (peer->cold_starts.size() >= kColdStartsMax) peer->cold_starts.pop_front();
  peer->cold_starts.push_back(std::move(start));
}

void AutoscalerLink::applied(const RevisionId& revision, std::uint64_t version) {
  const auto at = held_.find(revision);
  if (at == held_.end()) return;
  Held& held = at->second;
  held.governs = std::max(held.governs, std::min(version, held.state.version));
  confirm(held);
}

std::optional<proto::ActivatorMessage> AutoscalerLink::next_message(Stream stream) {
  Peer* const peer = find(stream);
  if (peer == nullptr) return std::nullopt;
  if (peer->phase == Phase::greeting && peer->hello) {
    proto::Hello hello = std::move(*peer->hello);
    peer->hello.reset();
    return hello;
  }
  if (peer->phase != Phase::welcomed) return std::nullopt;
  if (peer->parts.empty() && peer->pending.due) plan_parts(stream, *peer);
  if (!peer->parts.empty()) {
    proto::StatBatch part = std::move(peer->parts.front());
    peer->parts.pop_front();
    return part;
  }
  while (!peer->to_confirm.empty()) {
    const RevisionId revision = std::move(peer->to_confirm.front());
    peer->to_confirm.pop_front();
    const auto at = held_.find(revision);
    if (at == held_.end() || at->second.source != stream) continue;
    return proto::Applied{revision, at->second.governs};
  }
  if (!peer->cold_starts.empty()) {
    proto::ColdStart start = std::move(peer->cold_starts.front());
    peer->cold_starts.pop_front();
    return start;
  }
  return std::nullopt;
}

const proto::RevisionState* AutoscalerLink::state(const RevisionId& revision) const {
  const auto at = held_.find(revision);
  return at == held_.end() ? nullptr : &at->second.state;
}

std::size_t AutoscalerLink::welcomed() const {
  return static_cast<std::size_t>(std::count_if(peers_.begin(), peers_.end(), [](const auto& each) {
    return each.second.phase == Phase::welcomed;
  }));
}

std::size_t AutoscalerLink::listed() const {
  std::size_t names = 0;
  for (const auto& [stream, peer] : peers_) names += peer.listed.size();
  return names;
}

AutoscalerLink::Peer* AutoscalerLink::find(Stream stream) {
  const auto at = peers_.find(stream);
  return at == peers_.end() ? nullptr : &at->second;
}

std::string AutoscalerLink::refuse(Peer& peer, std::string why) {
  peer = Peer{};
  peer.phase = Phase::refused;
  return why;
}

void AutoscalerLink::welcome(Peer& peer, proto::Welcome message, Heard& heard) {
  if (message.protocol != proto::kActivatorProtocol) {
    heard.refused =
        refuse(peer, "the autoscaler speaks protocol " + std::to_string(message.protocol) +
                         ", this activator protocol " + std::to_string(proto::kActivatorProtocol));
    return;
  }
  peer.phase = Phase::welcomed;
  peer.hello.reset();
  peer.autoscaler = std::move(message.autoscaler);
  peer.in_snapshot = true;
  take_buckets(peer, std::move(message.buckets));
  heard.welcomed = true;
}

void AutoscalerLink::take_buckets(Peer& peer, proto::Buckets buckets) {
  if (buckets.all.size() > proto::kBucketNamesMax) buckets.all.resize(proto::kBucketNamesMax);
  peer.owned = {buckets.owned.begin(), buckets.owned.end()};
  peer.buckets = std::move(buckets);
  owners_.clear();
  // The new owner of a revision has no report yet of the requests held for it.
  if (waiting_.empty()) return;
  for (auto& [stream, each] : peers_) {
    if (each.phase == Phase::welcomed) each.pending.due = true;
  }
}

void AutoscalerLink::take_state(Stream stream, Peer& peer, proto::RevisionState state,
                                Heard& heard) {
  const auto at = held_.find(state.revision);
  if (at == held_.end() && held_.size() >= kStatesMax) {
    ++counts_.beyond;
    return;
  }
  if (peer.in_snapshot) peer.listed.insert(state.revision);
  if (at == held_.end()) {
    Held& held = held_[state.revision];
    held = {state, stream, 0, state.avoid.empty()};
    heard.states.push_back(std::move(state));
    return;
  }
  Held& held = at->second;
  if (state.version == held.state.version) return take_same(stream, held);
  if (state.version < held.state.version) {
    ++counts_.stale;
    return;
  }
  // A set that looks the same may have been another in between, in a state that was never sent: the
  // autoscaler then waits for this version. Only from nothing to nothing there is nothing to tell.
  held.confirmed = state.avoid.empty() && held.state.avoid.empty();
  held.state = state;
  held.source = stream;
  heard.states.push_back(std::move(state));
}

// A known state is sent again by an autoscaler whose stream was lost, or by one that took over; the
// answer confirms that the state is in force.
void AutoscalerLink::take_same(Stream stream, Held& held) {
  if (!is_source_of(stream, held)) return;
  if (held.source != stream && !held.state.avoid.empty()) held.confirmed = false;
  held.source = stream;
  confirm(held);
}

// One that has given the bucket away drops the revision and does not know whether it is gone: what
// it said stays in force until the next owner speaks.
void AutoscalerLink::take_gone(Stream stream, Peer& peer, const proto::RevisionGone& gone,
                               Heard& heard) {
  const auto at = held_.find(gone.revision);
  if (at == held_.end()) return;
  const bool may_say = is_source_of(stream, at->second) && owns(peer, gone.revision);
  if (!may_say || gone.version <= at->second.state.version) {
    ++counts_.stale;
    return;
  }
  held_.erase(at);
  peer.listed.erase(gone.revision);
  heard.gone.push_back(gone.revision);
}

void AutoscalerLink::end_snapshot(Stream stream, Peer& peer, Heard& heard) {
  if (!std::exchange(peer.in_snapshot, false)) return;
  const auto listed = std::exchange(peer.listed, {});
  std::erase_if(held_, [&](const auto& each) {
    const auto& [revision, held] = each;
    if (listed.contains(revision) || !is_source_of(stream, held)) return false;
    // It is judged by the replica that has its bucket now, whether the replica that said it is gone
    // or has only given the bucket away.
    if (!owns(peer, revision)) return false;
    heard.gone.push_back(revision);
    return true;
  });
}

void AutoscalerLink::confirm(Held& held) {
  if (held.confirmed || held.governs < held.state.version) return;
  Peer* const peer = find(held.source);
  if (peer == nullptr || peer->phase != Phase::welcomed) return;
  held.confirmed = true;
  peer->to_confirm.push_back(held.state.revision);
}

// The stream that said it, or any if that one is gone.
bool AutoscalerLink::is_source_of(Stream stream, const Held& held) const {
  return held.source == stream || !peers_.contains(held.source);
}

bool AutoscalerLink::owns(const Peer& peer, const RevisionId& revision) {
  // One that names no buckets does not share the revisions with others.
  if (peer.buckets.all.empty()) return true;
  const std::string key = revision.space + "/" + revision.name;
  return peer.owned.contains(ring::bucket_owner(peer.buckets.all, key));
}

AutoscalerLink::Stream AutoscalerLink::owner(const RevisionId& revision) {
  const auto at = owners_.find(revision);
  if (at != owners_.end()) return at->second;
  if (owners_.size() >= kStatesMax) owners_.clear();
  Stream best = kNoStream;
  std::uint64_t epoch = 0;
  for (const auto& [stream, peer] : peers_) {
    if (peer.phase != Phase::welcomed || !owns(peer, revision)) continue;
    // Two that claim a bucket: the one with the later epoch is right.
    if (best != kNoStream && peer.buckets.epoch <= epoch) continue;
    best = stream;
    epoch = peer.buckets.epoch;
  }
  owners_.emplace(revision, best);
  return best;
}

void AutoscalerLink::plan_parts(Stream stream, Peer& peer) {
  Pending batch = std::exchange(peer.pending, {});
  std::size_t bytes = 0;
  const auto room = [&](std::size_t more) -> proto::StatBatch& {
    bytes += more;
    if (peer.parts.empty() || bytes > kPartBytesMax) {
      peer.parts.push_back({++peer.sequence, {}, {}});
      bytes = more;
    }
    return peer.parts.back();
  };
  room(0);  // a batch with nothing in it says that we live
  for (const proto::Waiting& held : waiting_) {
    if (owner(held.revision) == stream) room(size_of(held)).waiting.push_back(held);
  }
  for (proto::StatMessage& stat : batch.stats) {
    const std::size_t more = size_of(stat);
    room(more).messages.push_back(std::move(stat));
  }
}

proto::StatMessage AutoscalerLink::stamped(const RevisionStat& stat, TimePoint now) const {
  proto::StatMessage message{stat.revision, {}};
  message.stat.pod_name = self_.activator;
  message.stat.average_concurrent_requests = stat.average_concurrent_requests;
  message.stat.request_count = stat.request_count;
  message.stat.timestamp = unix_seconds(now);
  message.newest = stat.newest;
  return message;
}

}  // namespace sluice::activator
