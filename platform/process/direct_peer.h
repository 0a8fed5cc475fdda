#pragma once

#include "activator/core/autoscaler_link.h"
#include "activator/io/autoscaler_peer.h"
#include "autoscaler/core/activators/activator_hub.h"
#include "common/base/lifetime.h"
#include "common/loop/loop.h"

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

namespace sluice::local {

/// An activator and its autoscaler in one process: the messages of protocols.md 3 as values,
/// instead of a stream. Messages up are handled in the same call, so that a first request starts a
/// replica in its own turn of the loop; what comes down comes in a turn of its own.
class DirectPeer final : public activator::AutoscalerPeer {
 public:
  using Heard = std::function<void(const autoscaler::ActivatorHub::Heard&)>;

  /// `loop` and `hub` outlive this. `heard` is called for every message that goes up.
  DirectPeer(Loop& loop, autoscaler::ActivatorHub& hub, activator::PeerEvents events, Heard heard);

  void start() override;
  void poke(const activator::RevisionStat& stat, const proto::Waiting& held,
            TimePoint now) override;
  void tick(std::span<const activator::RevisionStat> stats, std::span<const proto::Waiting> waiting,
            TimePoint now) override;
  [[nodiscard]] const proto::RevisionState* state(const RevisionId& revision) const override;

  [[nodiscard]] bool reachable() const override { return session_.has_value(); }

  [[nodiscard]] std::uint64_t errors() const override { return 0; }

  /// The hub may have something to send.
  void news();

 private:
  void up();
  void down();

  Loop& loop_;
  autoscaler::ActivatorHub& hub_;
  activator::PeerEvents events_;
  Heard heard_;
  activator::AutoscalerLink link_;
  std::optional<activator::AutoscalerLink::Stream> stream_;
  std::optional<autoscaler::ActivatorHub::Session> session_;
  std::unique_ptr<Timer> pace_;
  bool news_posted_ = false;
  bool going_up_ = false;
  Lifetime alive_;
};

}  // namespace sluice::local
