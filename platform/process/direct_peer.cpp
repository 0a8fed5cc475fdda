#include "platform/process/direct_peer.h"

#include "common/base/check.h"
#include "common/base/version.h"

#include <utility>

namespace sluice::local {

DirectPeer::DirectPeer(Loop& loop, autoscaler::ActivatorHub& hub, activator::PeerEvents events,
                       Heard heard)
    : loop_{loop},
      hub_{hub},
      events_{std::move(events)},
      heard_{std::move(heard)},
      link_{{.activator = "front-door", .address = {}, .version = std::string{kVersion}}},
      pace_{loop.timer()} {}

void DirectPeer::start() {
  stream_ = link_.add();
  session_ = hub_.open(loop_.now());
  CHECK(stream_ && session_);
  link_.connected(*stream_, events_.held());
  up();
  down();
}

void DirectPeer::poke(const activator::RevisionStat& stat, const proto::Waiting& held,
                      TimePoint now) {
  link_.poke(stat, held, now);
  up();
}

void DirectPeer::tick(std::span<const activator::RevisionStat> stats,
                      std::span<const proto::Waiting> waiting, TimePoint now) {
  link_.tick(stats, waiting, now);
  up();
  news();
}

const proto::RevisionState* DirectPeer::state(const RevisionId& revision) const {
  return link_.state(revision);
}

void DirectPeer::news() {
  if (!session_ || std::exchange(news_posted_, true)) return;
  loop_.post([this, alive = alive_.watch()] {
    if (alive.over()) return;
    news_posted_ = false;
    down();
  });
}

// A received message may lead to another one, which is sent after it.
void DirectPeer::up() {
  if (!session_ || std::exchange(going_up_, true)) return;
  while (auto message = link_.next_message(*stream_)) {
    heard_(hub_.received(*session_, std::move(*message), loop_.now()));
  }
  going_up_ = false;
}

void DirectPeer::down() {
  while (auto message = hub_.next_message(*session_, loop_.now())) {
    const auto heard = link_.received(*stream_, std::move(*message));
    for (const proto::RevisionState& state : heard.states) {
      events_.on_state(state);
      link_.applied(state.revision, state.version);
    }
    for (const RevisionId& gone : heard.gone) events_.on_gone(gone);
    if (heard.welcomed) events_.on_reached();
  }
  up();
  if (const auto due = hub_.next_due(loop_.now())) {
    pace_->at(*due, [this] { down(); });
  }
}

}  // namespace sluice::local
