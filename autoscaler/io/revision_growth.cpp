// What a revision may grow to: room, starts that fail, choices by hand, and the answer to
// requests that no start will serve.

#include "autoscaler/io/revision.h"
#include "common/messages/start_gate.h"

#include <algorithm>
#include <utility>

namespace sluice::autoscaler {
namespace {

// For requests that are refused because a revision is kept at no replicas by hand, or because its
// pods do not start: when that ends is not known.
constexpr std::chrono::seconds kPausedRetry{10};
constexpr std::chrono::seconds kStartFailedRetry{10};

// From a shortage until moves that make room have begun, where there are any (Mover::on_shortage).
constexpr Duration kPlannedWithin = std::chrono::milliseconds{200};

std::string shown(const RevisionId& id) {
  return id.space + "/" + id.name;
}

proto::CannotScaleReason on_the_wire(placement::Reason reason) {
  switch (reason) {
    case placement::Reason::no_matching_place:
      return proto::CannotScaleReason::no_matching_place;
    case placement::Reason::gate:
    case placement::Reason::gate_later:
      return proto::CannotScaleReason::node_pressure;
    case placement::Reason::none:
    case placement::Reason::too_big:
    case placement::Reason::place_away:
    case placement::Reason::slots:
    case placement::Reason::cpu:
    case placement::Reason::memory:
    case placement::Reason::pressure:
    case placement::Reason::fragmented:
    case placement::Reason::node_limit:
      break;
  }
  return proto::CannotScaleReason::no_capacity;
}

}  // namespace

void Revision::take_room() {
  const placement::Grant granted = around_.placement.ask(facts_.id, demand());
  granted_ = granted.replicas;
  places_.assign(granted.places.begin(), granted.places.end());
  // The rest of what is granted one at a time.
  if (granted.ask_again) look_again(*granted.ask_again);
  note_shortage(granted);
  if (recording_ && !by_hand()) {
    recording_->note_granted({.at = around_.clock.now(),
                              .granted = granted_,
                              .shortage = shortage_ ? shortage_->why.detail : std::string{}});
  }
}

// A number chosen by hand runs whatever there is room for.
placement::RevisionDemand Revision::demand() {
  const TimePoint now = around_.clock.now();
  replicas_.clear();
  for (const PodFacts& pod : pods_) {
    replicas_.push_back({.node = pod.watched.node,
                         .leaving = pod.watched.terminating,
                         .chosen = removals_.leaving(pod.watched.id),
                         .settled = now - pod.seen >= kClaimKept});
  }
  const std::int32_t wanted = want();
  return {.wanted = wanted,
          .load = load_wants(wanted),
          .ordered = std::min(wanted, granted_),
          .each = {.cpu = facts_.claim_cpu.value_or(0),
                   .memory = facts_.claim_memory.value_or(kDefaultClaim),
                   .slots = 1},
          .wish = &facts_.placement,
          .replicas = replicas_,
          .forced = by_hand(),
          .moving = move_.has_value(),
          .now = now};
}

// Without what is only kept: by panic, by delays, by windows.
std::int32_t Revision::load_wants(std::int32_t want) const {
  const DecisionRecord& last = scaler().last();
  if (!last.valid || last.woken_by_hand) return want;
  return std::min(want, std::max({last.wanted_stable, last.wanted_panic, last.bounds.min}));
}

void Revision::note_shortage(const placement::Grant& granted) {
  const auto& missing = granted.missing;
  if (missing.has_value() != shortage_.has_value()) {
    around_.log.write(missing ? log::Severity::warning : log::Severity::info,
                      missing ? "there is no room for all requested replicas"
                              : "there is room for all requested replicas again",
                      {{"revision", shown(facts_.id)},
                       {"wanted", std::to_string(want())},
                       {"granted", std::to_string(granted_)},
                       {"why", missing ? missing->detail : std::string{}}});
    if (missing && around_.on_shortage) around_.on_shortage();
  }
  if (!missing) {
    shortage_.reset();
    return;
  }
  const TimePoint now = around_.clock.now();
  if (!shortage_) shortage_ = Shortage{.since = now};
  shortage_->why = *missing;
  if (missing->patience && !shortage_->is_told(now)) {
    look_again(shortage_->since + *missing->patience);
  }
  warn_of_shortage();
}

// Once for each shortage, when it is known whether services are moved for it.
void Revision::warn_of_shortage() {
  if (shortage_->warned) return;
  const TimePoint due = shortage_->since + (around_.on_shortage ? kPlannedWithin : Duration{0});
  if (around_.clock.now() < due) {
    look_again(due);
    return;
  }
  shortage_->warned = true;
  const std::string what = "there is no room for all requested replicas: " + shortage_->why.detail;
  const std::string room = room_is_made();
  around_.events.warn(facts_, room.empty() ? what : what + "; " + room,
                      room.empty() ? shortage_->why.fix : std::string{});
}

// One pod that is ready or may become so is hope for requests that wait, even one that is too many:
// it may be of a corrected template. So is no pod at all.
std::string Revision::failing_start() const {
  if (facts_.start_failure) return facts_.start_failure->why;
  const PodFacts* failed = nullptr;
  for (const PodFacts& pod : pods_) {
    if (pod.watched.ready) return {};
    if (pod.watched.terminating) continue;
    if (pod.watched.failed.empty()) return {};
    if (failed == nullptr && !leaving(pod)) failed = &pod;
  }
  return failed == nullptr ? std::string{} : failed->watched.failed;
}

void Revision::note_start_failure() {
  std::string failure = failing_start();
  if (failure.empty() != start_failure_.empty()) {
    around_.log.write(
        failure.empty() ? log::Severity::info : log::Severity::warning,
        failure.empty() ? "its replicas no longer fail to start" : "its replicas fail to start",
        {{"revision", shown(facts_.id)}, {"why", failure.empty() ? start_failure_ : failure}});
  }
  start_failure_ = std::move(failure);
  if (facts_.start_failure && refuses_starts()) look_again(facts_.start_failure->retry_at);
}

bool Revision::refuses_starts() const {
  if (start_failure_.empty()) return false;
  return !facts_.start_failure || around_.clock.now() < facts_.start_failure->retry_at;
}

std::optional<proto::CannotScale> Revision::cannot_scale() const {
  using Reason = proto::CannotScaleReason;
  const TimePoint now = around_.clock.now();
  if (facts_.chosen == 0) {
    return proto::CannotScale{.reason = Reason::paused,
                              .detail = "it is kept at zero replicas by hand",
                              .retry_after = kPausedRetry};
  }
  if (refuses_starts()) {
    const bool told = facts_.start_failure && !facts_.start_failure->for_clients.empty();
    std::string detail = "the service fails to start: " +
                         (told ? facts_.start_failure->for_clients : start_failure_);
    detail.resize(std::min(detail.size(), proto::kDetailBytesMax));
    return proto::CannotScale{.reason = Reason::start_failed,
                              .detail = std::move(detail),
                              .retry_after = facts_.start_failure
                                                 ? facts_.start_failure->retry_at - now
                                                 : kStartFailedRetry};
  }
  if (shortage_ && shortage_->is_told(now) && room_is_made().empty()) {
    return proto::CannotScale{.reason = on_the_wire(shortage_->why.reason),
                              .detail = shortage_->why.detail,
                              .retry_after = shortage_->why.retry_after};
  }
  return std::nullopt;
}

void Revision::look_again(TimePoint when) {
  if (again_at_ && *again_at_ <= when) return;
  again_at_ = when;
  again_->at(when, [this] {
    again_at_.reset();
    publish();
  });
}

}  // namespace sluice::autoscaler
