#include "activator/io/front_words.h"

#include <algorithm>

namespace sluice::activator {
namespace {

Duration age_of(std::optional<TimePoint> oldest, TimePoint now) {
  return oldest ? std::max(Duration{0}, now - *oldest) : Duration{0};
}

}  // namespace

FrontGrant grant_of(const proto::RevisionState& state) {
  FrontGrant grant;
  grant.none_wanted = state.desired == 0;
  grant.grant.desired = std::max(0, state.desired);
  grant.grant.granted = state.granted < 0 ? grant.grant.desired : state.granted;
  grant.grant.activators = std::max(1, state.activators);
  if (!state.cannot_scale) return grant;
  grant.grant.cannot_scale = true;
  grant.grant.retry_after = state.cannot_scale->retry_after;
  grant.detail = state.cannot_scale->detail;
  switch (state.cannot_scale->reason) {
    case proto::CannotScaleReason::no_capacity:
      grant.reason = "no-capacity";
      break;
    case proto::CannotScaleReason::no_matching_place:
      grant.reason = "no-matching-place";
      break;
    case proto::CannotScaleReason::start_failed:
      grant.error = Error::start_failed;
      break;
    case proto::CannotScaleReason::paused:
      grant.reason = "paused";
      break;
    case proto::CannotScaleReason::node_pressure:
      grant.reason = "node-pressure";
      break;
    case proto::CannotScaleReason::unspecified:
      break;
  }
  return grant;
}

std::vector<proto::Waiting> held_by(const FrontGateway& front, TimePoint now) {
  std::vector<proto::Waiting> held;
  front.each_busy([&](const FrontGateway::Busy& busy) {
    if (busy.waiting == 0) return;
    held.push_back({busy.id, static_cast<std::uint32_t>(busy.waiting), age_of(busy.oldest, now)});
  });
  return held;
}

proto::Waiting poke_of(const FrontGateway& front, RevisionHandle revision, TimePoint now) {
  return {front.id_of(revision), static_cast<std::uint32_t>(std::max(1, front.waiting(revision))),
          age_of(front.oldest_waiting(revision), now)};
}

}  // namespace sluice::activator
