// A revision under the memory rules: it asks before each start, keeps its throttled replicas out of
// routing, and lets go of what its load does not need.

#include "programs/sluice/engine/revision.h"
#include "programs/sluice/engine/revision_instance.h"
#include <algorithm>

namespace sluice::local {

namespace {

/// How long requests wait for memory before they are told. Time for idle replicas of others to
/// drain; what takes longer is no matter of waiting.
constexpr Duration kPatience = std::chrono::seconds{5};
/// When it is worth asking again: samples are taken all the time, but memory comes back with the
/// end of somebody's work.
constexpr Duration kRetryAfter = std::chrono::seconds{10};
/// What a sacrificed replica may still answer, unless memory runs out within the second.
constexpr Duration kLastAnswers = std::chrono::seconds{2};

Duration patience(const ServiceSpec& spec) {
  Duration most = std::min<Duration>(kPatience, spec.timeout / 2);
  if (spec.response_start_timeout.count() > 0) {
    most = std::min<Duration>(most, spec.response_start_timeout / 2);
  }
  return most;
}

}  // namespace

std::vector<TenantReplica> Revision::replicas() const {
  std::vector<TenantReplica> list;
  for (const auto& instance : instances_) {
    const Replica& replica = *instance->replica;
    if (replica.app_pid() <= 0 || instance->ended) continue;
    const auto& times = replica.times();
    list.push_back({.id = replica.id(),
                    .pid = replica.app_pid(),
                    .started = times.executed.value_or(platform_.clock.now()),
                    .ready = instance->ready_at.has_value(),
                    .leaving = instance->draining || stopping_});
  }
  return list;
}

// What the load needs right now, without what is only kept: by panic, by delays, by windows, or by
// a floor that counts replicas and not requests. Never less than what is busy.
std::int32_t Revision::needed(std::int32_t want) const {
  const autoscaler::DecisionRecord& last = scaler_->last();
  if (!last.valid || last.woken_by_hand) return want;
  std::int32_t busy = platform_.front->waiting(handle_) > 0 ? 1 : 0;
  for (const auto& instance : instances_) {
    if (!instance->counts()) continue;
    const bool works =
        !instance->ready_at || platform_.front->in_flight(handle_, {instance->replica->id()}) > 0;
    if (works) ++busy;
  }
  const std::int32_t load = std::max(last.wanted_stable, last.wanted_panic);
  return std::min(want, std::max({load, busy, scaler_->spec().bounds.min}));
}

bool Revision::has_room() {
  const StartAnswer answer = platform_.memory.ask(*this, replica_id(free_number()));
  if (answer.granted) return true;
  asks_for_room_ = true;
  if (!answer.later) note_shortage(autoscaler::memory_shortage(answer.free, answer.claim));
  return false;
}

void Revision::note_shortage(std::optional<std::string> text) {
  if (!text) {
    shortage_.reset();
  } else if (shortage_) {
    shortage_->text = std::move(*text);
  } else {
    shortage_ = Shortage{platform_.clock.now(), std::move(*text)};
  }
  tell_grant();
}

// The front door holds requests while there is hope, and tells them when there is none.
void Revision::tell_grant() {
  const Counts now = counts();
  const std::int32_t live = now.ready + now.starting;
  const bool hopeless =
      shortage_ && live == 0 && platform_.clock.now() - shortage_->since >= patience(facts_.spec);
  const std::string words = shortage_ ? shortage_->text : std::string{};
  if (words.empty() && told_words_.empty()) return;
  if (words == told_words_ && live == told_live_ && hopeless == told_hopeless_) return;
  told_words_ = words;
  told_live_ = live;
  told_hopeless_ = hopeless;
  activator::FrontGrant grant;
  if (shortage_) {
    grant.grant = {.desired = std::max(scaler_->want(), live + 1),
                   .granted = live,
                   .cannot_scale = hopeless,
                   .retry_after = kRetryAfter};
    grant.reason = "node-pressure";
    grant.detail = words;
  }
  platform_.front->set_grant(handle_, grant);
}

void Revision::on_room() {
  if (retired_ || stopping_) return;
  const bool trims = platform_.memory.trims();
  const bool changed = trims != trimmed_;
  trimmed_ = trims;
  if (shortage_ || asks_for_room_ || trims || changed) {
    reconcile();
    tell_grant();
  }
}

void Revision::on_throttled(const std::string& replica, bool throttled, const std::string& why) {
  for (const auto& instance : instances_) {
    if (instance->replica->id() != replica || instance->throttled == throttled) continue;
    instance->throttled = throttled;
    if (!instance->is_ready()) continue;
    tell_front();
    publish_throttled(*instance->replica, throttled, why);
    owner_.on_revision_changed(*this);
  }
}

bool Revision::on_sacrifice(const std::string& replica, bool emergency, const std::string& why) {
  for (const auto& instance : instances_) {
    if (instance->replica->id() != replica || !instance->counts()) continue;
    const bool busy = platform_.front->in_flight(handle_, {replica}) > 0;
    if (busy && counts().ready <= 1 && !emergency) return false;
    instance->draining = true;
    tell_front();
    publish_leaving(*instance->replica, "sacrificed: " + why);
    if (emergency) {
      stop(*instance);
    } else {
      drain(*instance, kLastAnswers);
    }
    return true;
  }
  return false;
}

autoscaler::DecisionRecord Revision::last_decision() const {
  autoscaler::DecisionRecord record = scaler_->last();
  limit(record);
  return record;
}

void Revision::limit(autoscaler::DecisionRecord& record) const {
  if (shortage_) {
    const Counts now = counts();
    limit_by_capacity(record, std::min(record.bounded, now.ready + now.starting), shortage_->text);
    return;
  }
  const std::int32_t want = std::min(record.bounded, wanted());
  record.granted = want;
  if (want < record.bounded && platform_.memory.trims()) {
    limit_by_capacity(record, want, "memory is short: replicas without load go first");
  }
}

// What was granted has changed without a new decision.
void Revision::publish_limit() {
  if (retired_ || stopping_) return;
  autoscaler::DecisionRecord record = last_decision();
  const bool limited = record.bound_by == autoscaler::Bound::capacity;
  if (limited == told_limit_ && (!limited || record.granted == told_granted_)) return;
  record.time = platform_.clock.now();
  publish_decision(record);
}

}  // namespace sluice::local
