#include "activator/io/autoscaler_desk.h"

#include <algorithm>
#include <utility>

namespace sluice::activator {
namespace {

constexpr Duration kReportPeriod = std::chrono::seconds{1};

FrontGrant grant_of(const proto::RevisionState& state) {
  FrontGrant grant;
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

}  // namespace

void AutoscalerDesk::start(AutoscalerPeer& peer, Reported reported) {
  peer_ = &peer;
  reported_ = std::move(reported);
  next_tick_ = clock_.now() + kReportPeriod;
  ticker_->at(next_tick_, [this] { tick(); });
}

void AutoscalerDesk::apply(const proto::RevisionState& state) {
  const auto handle = book_.find(state.revision);
  if (!handle) return;
  prober_.set_avoid(*handle, state.avoid);
  front_.set_grant(*handle, grant_of(state));
}

void AutoscalerDesk::forget(const RevisionId& revision) {
  const auto handle = book_.find(revision);
  if (!handle) return;
  prober_.set_avoid(*handle, {});
  front_.set_grant(*handle, {});
}

void AutoscalerDesk::poke(RevisionHandle revision, const RevisionStat& stat) {
  const TimePoint now = clock_.now();
  const auto oldest = front_.oldest_waiting(revision);
  const std::int32_t waiting = std::max(1, front_.waiting(revision));
  peer_->poke(stat,
              {stat.revision, static_cast<std::uint32_t>(waiting),
               oldest ? std::max(Duration{0}, now - *oldest) : Duration{0}},
              now);
}

std::vector<proto::Waiting> AutoscalerDesk::held() const {
  const TimePoint now = clock_.now();
  std::vector<proto::Waiting> held;
  front_.each_busy([&](const FrontGateway::Busy& busy) {
    if (busy.waiting == 0) return;
    const Duration oldest = busy.oldest ? std::max(Duration{0}, now - *busy.oldest) : Duration{0};
    held.push_back({busy.id, static_cast<std::uint32_t>(busy.waiting), oldest});
  });
  return held;
}

void AutoscalerDesk::tick() {
  const TimePoint now = clock_.now();
  std::vector<RevisionStat> stats;
  front_.report(now, stats);
  peer_->tick(stats, held(), now);
  front_.sweep();
  prober_.sweep();
  if (reported_) reported_(stats);
  // A late tick is followed by one at its proper time; ticks that passed altogether are skipped.
  // One that is more than a period away is so by a clock that stepped back.
  do {
    next_tick_ += kReportPeriod;
  } while (next_tick_ <= now);
  next_tick_ = std::min(next_tick_, now + kReportPeriod);
  ticker_->at(next_tick_, [this] { tick(); });
}

}  // namespace sluice::activator
