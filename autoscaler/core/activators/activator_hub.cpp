#include "autoscaler/core/activators/activator_hub.h"

#include "autoscaler/core/activators/pushed_stat.h"

#include <algorithm>
#include <unordered_set>
#include <variant>

namespace sluice::autoscaler {
namespace {

// News that wait for nothing, ahead of a snapshot, which waits for nothing but those.
constexpr TimePoint kAtOnce = TimePoint::min();
constexpr TimePoint kSnapshot = kAtOnce + Duration{1};

bool same_but_ready(proto::RevisionState one, const proto::RevisionState& other) {
  one.ready = other.ready;
  one.version = other.version;
  return one == other;
}

}  // namespace

std::uint64_t first_version(TimePoint start) {
  const auto seconds = std::chrono::floor<std::chrono::seconds>(start);
  const auto fraction = static_cast<std::uint64_t>((start - seconds).count());
  return static_cast<std::uint64_t>(seconds.time_since_epoch().count()) << 32U | fraction * 4;
}

ActivatorHub::ActivatorHub(Self self, proto::Buckets buckets, TimePoint start, Duration pause)
    : self_(std::move(self)),
      buckets_(std::move(buckets)),
      start_(start),
      pause_(pause),
      latest_(start),
      next_version_(first_version(start)) {}

std::optional<ActivatorHub::Session> ActivatorHub::open(TimePoint now) {
  if (lines_.size() >= kSessionsMax) return std::nullopt;
  follow_clock(now);
  lines_[next_session_].since = now;
  return next_session_++;
}

void ActivatorHub::closed(Session session, TimePoint now) {
  const auto at = lines_.find(session);
  if (at == lines_.end()) return;
  const auto who = activators_.find(at->second.activator);
  if (who != activators_.end() && who->second.session == session) who->second.session.reset();
  lines_.erase(at);
  forget_silent(now);
}

ActivatorHub::Heard ActivatorHub::received(Session session, proto::ActivatorMessage message,
                                           TimePoint now) {
  Heard heard;
  follow_clock(now);
  const auto at = lines_.find(session);
  if (at == lines_.end() || at->second.refused) return heard;
  Line& line = at->second;
  if (const auto* hello = std::get_if<proto::Hello>(&message)) {
    heard.refused = greet(session, line, *hello, now);
    heard.greeted = !heard.refused;
    if (heard.greeted) take_waiting(hello->waiting, heard);
  } else if (line.activator.empty()) {
    heard.refused = {Refusal::out_of_turn, "the first message must be Hello"};
  }
  if (heard.refused) {
    line.refused = true;
    ++counts_.refused;
    return heard;
  }
  activators_[line.activator].seen.heard = now;
  if (auto* batch = std::get_if<proto::StatBatch>(&message)) {
    take_batch(line, std::move(*batch), heard);
  } else if (const auto* applied = std::get_if<proto::Applied>(&message)) {
    if (activators_[line.activator].session == session) take_applied(line, *applied, heard);
  } else if (auto* start = std::get_if<proto::ColdStart>(&message)) {
    if (revisions_.contains(start->revision)) heard.cold_start = std::move(*start);
  }
  return heard;
}

std::optional<ActivatorHub::Refused> ActivatorHub::greet(Session session, Line& line,
                                                         const proto::Hello& hello, TimePoint now) {
  if (hello.protocol != proto::kActivatorProtocol) {
    return Refused{Refusal::wrong_protocol,
                   "the activator speaks protocol " + std::to_string(hello.protocol) +
                       ", this autoscaler protocol " + std::to_string(proto::kActivatorProtocol)};
  }
  if (!line.activator.empty()) return Refused{Refusal::out_of_turn, "a second Hello"};
  if (hello.activator.empty()) return Refused{Refusal::out_of_turn, "Hello names no activator"};
  forget_silent(now);
  line.activator = hello.activator;
  line.welcome_due = line.snapshot = true;
  // The newest session of an activator is the one that counts: an older one is dying.
  activators_[hello.activator] = {
      {hello.activator, hello.address, hello.version, now}, session, {}};
  for (const auto& [revision, entry] : revisions_) {
    line.told[revision].in_snapshot = true;
    ++line.snapshot_left;
    enqueue(line, revision, kSnapshot);
  }
  return std::nullopt;
}

void ActivatorHub::take_batch(Line& line, proto::StatBatch batch, Heard& heard) {
  ++counts_.batches;
  if (batch.sequence > line.sequence) {
    counts_.gaps += batch.sequence - line.sequence - 1;
    line.sequence = batch.sequence;
  }
  heard.stats.reserve(batch.messages.size());
  for (proto::StatMessage& message : batch.messages) {
    heard.stats.push_back({std::move(message.revision), figures_of(message.stat),
                           stamp_of(message.stat), message.newest});
  }
  take_waiting(batch.waiting, heard);
}

void ActivatorHub::take_waiting(const std::vector<proto::Waiting>& waiting, Heard& heard) const {
  std::optional<std::unordered_set<RevisionId>> shown;
  for (const proto::Waiting& held : waiting) {
    const proto::RevisionState* const known = state(held.revision);
    if (known == nullptr || known->desired != 0 || held.requests == 0) continue;
    heard.held.push_back({held.revision, held.oldest});
    if (!shown) {
      shown.emplace();
      for (const PushedStat& each : heard.stats) {
        if (each.stat.average_concurrency > 0) shown->insert(each.revision);
      }
    }
    if (shown->insert(held.revision).second) {
      heard.pokes.push_back({held.revision, static_cast<double>(held.requests)});
    }
  }
}

void ActivatorHub::take_applied(const Line& line, const proto::Applied& applied, Heard& heard) {
  if (!revisions_.contains(applied.revision)) return;
  std::uint64_t& version = activators_[line.activator].applied[applied.revision];
  version = std::max(version, applied.version);
  heard.applied = applied.revision;
}

std::optional<proto::AutoscalerMessage> ActivatorHub::next_message(Session session, TimePoint now) {
  const auto at = lines_.find(session);
  if (at == lines_.end() || at->second.refused || at->second.activator.empty()) return std::nullopt;
  Line& line = at->second;
  if (std::exchange(line.welcome_due, false)) {
    line.buckets_due = false;
    return proto::Welcome{proto::kActivatorProtocol, self_.autoscaler, self_.version, buckets_};
  }
  if (std::exchange(line.buckets_due, false)) return buckets_;
  if (!line.gone.empty()) {
    const auto gone = line.gone.extract(line.gone.begin());
    return proto::RevisionGone{gone.key(), gone.mapped()};
  }
  if (!line.queue.empty()) {
    // Further away than a pause is no date but a clock that stepped back.
    const TimePoint due = line.queue.begin()->first;
    if (due <= now || due > now + pause_) return take_out(line, now);
  }
  if (line.snapshot && line.snapshot_left == 0) {
    line.snapshot = false;
    return proto::SnapshotEnd{line.snapshot_sent};
  }
  return std::nullopt;
}

std::optional<TimePoint> ActivatorHub::next_due(TimePoint now) const {
  std::optional<TimePoint> next;
  for (const auto& [session, line] : lines_) {
    // What is due already waits for room, not for time.
    const auto at = line.queue.lower_bound({now + Duration{1}, {}});
    if (at != line.queue.end() && (!next || at->first < *next)) next = at->first;
  }
  return next;
}

std::vector<ActivatorHub::Session> ActivatorHub::overdue(TimePoint now) const {
  std::vector<Session> sessions;
  for (const auto& [session, line] : lines_) {
    if (line.activator.empty() && now - line.since >= kHelloLimit) sessions.push_back(session);
  }
  return sessions;
}

std::size_t ActivatorHub::connected() const {
  return static_cast<std::size_t>(
      std::count_if(activators_.begin(), activators_.end(),
                    [](const auto& each) { return each.second.session.has_value(); }));
}

std::vector<ActivatorHub::Seen> ActivatorHub::activators() const {
  std::vector<Seen> all;
  for (const auto& [name, activator] : activators_) {
    if (activator.session) all.push_back(activator.seen);
  }
  return all;
}

std::uint64_t ActivatorHub::set_state(proto::RevisionState state, TimePoint now) {
  forget_silent(now);
  if (state.avoid.size() > proto::kAvoidMax) state.avoid.resize(proto::kAvoidMax);
  auto at = revisions_.find(state.revision);
  if (at != revisions_.end() && same_but_ready(state, at->second.state)) {
    at->second.state.ready = state.ready;
    return at->second.state.version;
  }
  if (at == revisions_.end()) {
    if (revisions_.size() >= kRevisionsMax) return 0;
    at = revisions_.emplace(state.revision, Entry{}).first;
  }
  Entry& entry = at->second;
  state.version = next_version_++;
  if (state.avoid != entry.state.avoid) entry.avoid_version = state.version;
  entry.state = std::move(state);
  for (auto& [session, line] : lines_) {
    if (line.refused || line.activator.empty()) continue;
    line.gone.erase(at->first);
    enqueue(line, at->first, due_of(line.told[at->first], entry.state));
  }
  return entry.state.version;
}

void ActivatorHub::remove(const RevisionId& revision, TimePoint now) {
  forget_silent(now);
  if (revisions_.erase(revision) == 0) return;
  const std::uint64_t version = next_version_++;
  for (auto& [session, line] : lines_) {
    const auto at = line.told.find(revision);
    if (at == line.told.end()) continue;
    const Told& told = at->second;
    if (told.due) line.queue.erase({*told.due, revision});
    if (told.in_snapshot) --line.snapshot_left;
    // An activator that was never told forgets what it had before at the end of its snapshot.
    if (told.at) line.gone[revision] = version;
    line.told.erase(at);
  }
  for (auto& [name, activator] : activators_) activator.applied.erase(revision);
}

const proto::RevisionState* ActivatorHub::state(const RevisionId& revision) const {
  const auto at = revisions_.find(revision);
  return at == revisions_.end() ? nullptr : &at->second.state;
}

void ActivatorHub::set_buckets(proto::Buckets buckets) {
  buckets_ = std::move(buckets);
  next_version_ = std::max(next_version_, buckets_.epoch << 32U);
  for (auto& [session, line] : lines_) line.buckets_due = true;
}

bool ActivatorHub::applied(const RevisionId& revision, std::uint64_t version, TimePoint now) const {
  return !applied_latest(revision, version, now);
}

std::optional<TimePoint> ActivatorHub::applied_latest(const RevisionId& revision,
                                                      std::uint64_t version, TimePoint now) const {
  const auto at = revisions_.find(revision);
  if (at == revisions_.end() || at->second.state.avoid.empty()) return std::nullopt;
  const std::uint64_t needed = std::min(version, at->second.avoid_version);
  std::optional<TimePoint> latest;
  const auto wait_until = [&](TimePoint until) {
    if (until > now && (!latest || until > *latest)) latest = until;
  };
  wait_until(start_ + kRemovalWait);
  for (const auto& [name, activator] : activators_) {
    const auto applied = activator.applied.find(revision);
    if (applied != activator.applied.end() && applied->second >= needed) continue;
    wait_until(activator.seen.heard + kRemovalWait);
  }
  return latest;
}

// At once when requests may be waiting for it; otherwise at the pace of one in a pause.
TimePoint ActivatorHub::due_of(const Told& told, const proto::RevisionState& state) {
  const bool wakes = told.granted == 0 && state.granted > 0;
  return !told.at || wakes ? kAtOnce : *told.at + pause_;
}

void ActivatorHub::enqueue(Line& line, const RevisionId& revision, TimePoint due) {
  Told& told = line.told[revision];
  if (told.due && *told.due <= due) return;
  if (told.due) line.queue.erase({*told.due, revision});
  told.due = due;
  line.queue.emplace(due, revision);
}

proto::RevisionState ActivatorHub::take_out(Line& line, TimePoint now) {
  const RevisionId revision = line.queue.extract(line.queue.begin()).value().second;
  const proto::RevisionState& state = revisions_.find(revision)->second.state;
  Told& told = line.told[revision];
  told.due.reset();
  told.at = now;
  told.granted = state.granted;
  if (std::exchange(told.in_snapshot, false)) {
    --line.snapshot_left;
    ++line.snapshot_sent;
  }
  ++counts_.sent;
  return state;
}

// When the clock steps back, so does the age of every message: no activator is waited for until the
// clock has caught up.
void ActivatorHub::follow_clock(TimePoint now) {
  if (const Duration back = std::exchange(latest_, now) - now; back > Duration{0}) {
    start_ -= back;
    for (auto& [name, activator] : activators_) activator.seen.heard -= back;
    for (auto& [session, line] : lines_) line.since -= back;
  }
}

void ActivatorHub::forget_silent(TimePoint now) {
  follow_clock(now);
  std::erase_if(activators_, [now](const auto& each) {
    return !each.second.session && now - each.second.seen.heard >= kRemovalWait;
  });
}

}  // namespace sluice::autoscaler
