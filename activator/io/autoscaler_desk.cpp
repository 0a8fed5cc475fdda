#include "activator/io/autoscaler_desk.h"

#include "activator/io/front_words.h"

#include <algorithm>
#include <utility>

namespace sluice::activator {
namespace {

constexpr Duration kReportPeriod = std::chrono::seconds{1};

}  // namespace

void AutoscalerDesk::start(AutoscalerPeer& peer, TimePoint first, Reported reported) {
  peer_ = &peer;
  reported_ = std::move(reported);
  next_tick_ = first;
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
  peer_->poke(stat, poke_of(front_, revision, now), now);
}

std::vector<proto::Waiting> AutoscalerDesk::held() const {
  return held_by(front_, clock_.now());
}

void AutoscalerDesk::tick() {
  const TimePoint now = clock_.now();
  std::vector<RevisionStat> stats;
  front_.report(now, stats);
  peer_->tick(stats, held_by(front_, now), now);
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
