// What a revision may grow to: room, starts that fail, choices by hand, and the answer to
// requests that no start will serve.

#include "autoscaler/io/revision.h"

#include <algorithm>
#include <utility>

namespace sluice::autoscaler {
namespace {

// For requests that are refused because a revision is kept at no replicas by hand, or because its
// pods do not start: when that ends is not known.
constexpr std::chrono::seconds kPausedRetry{10};
constexpr std::chrono::seconds kStartFailedRetry{10};

std::string shown(const RevisionId& id) {
  return id.space + "/" + id.name;
}

}  // namespace

void Revision::take_room() {
  const std::int32_t wanted = want();
  note_shortage(by_hand() ? take_choice(wanted) : grant(wanted));
}

Room::Granted Revision::grant(std::int32_t want) {
  const TimePoint now = around_.clock.now();
  const auto settled = std::count_if(pods_.begin(), pods_.end(), [this, now](const PodFacts& pod) {
    return !leaving(pod) && now - pod.seen >= kClaimKept;
  });
  Room::Granted granted =
      around_.room.grant(facts_.id, {.wanted = want,
                                     .load = load_wants(want),
                                     .ordered = std::min(want, granted_),
                                     .settled = static_cast<std::int32_t>(settled),
                                     .now = now});
  granted_ = granted.replicas;
  // The rest of what is granted one at a time.
  if (granted.spaced) look_again(now + kStartSpacing);
  return granted;
}

// Without what is only kept: by panic, by delays, by windows.
std::int32_t Revision::load_wants(std::int32_t want) const {
  const DecisionRecord& last = scaler().last();
  if (!last.valid || last.woken_by_hand) return want;
  return std::min(want, std::max({last.wanted_stable, last.wanted_panic, last.bounds.min}));
}

// A number chosen by hand runs whatever there is room for.
Room::Granted Revision::take_choice(std::int32_t chosen) {
  around_.room.forget(facts_.id);
  granted_ = chosen;
  return {.replicas = chosen};
}

void Revision::note_shortage(const Room::Granted& granted) {
  if (granted.bounded != shortage_.has_value()) {
    around_.log.write(granted.bounded ? log::Severity::warning : log::Severity::info,
                      granted.bounded ? "there is no room for all requested replicas"
                                      : "there is room for all requested replicas again",
                      {{"revision", shown(facts_.id)},
                       {"wanted", std::to_string(want())},
                       {"granted", std::to_string(granted_)},
                       {"free_bytes", std::to_string(granted.free)}});
    if (granted.bounded) {
      around_.events.warn(
          facts_, "there is no room for all requested replicas: " + granted.shortage, granted.fix);
    }
  }
  if (!granted.bounded) {
    shortage_.reset();
    return;
  }
  const TimePoint since = shortage_ ? shortage_->since : around_.clock.now();
  shortage_ = Shortage{.text = granted.shortage,
                       .since = since,
                       .patience = granted.patience,
                       .retry_after = granted.retry_after};
  if (granted.patience && around_.clock.now() - since < *granted.patience) {
    look_again(since + *granted.patience);
  }
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
  if (shortage_ && shortage_->patience && now - shortage_->since >= *shortage_->patience) {
    return proto::CannotScale{.reason = Reason::node_pressure,
                              .detail = shortage_->text,
                              .retry_after = shortage_->retry_after};
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
