#pragma once

#include "activator/io/autoscaler_peer.h"
#include "activator/io/front_gateway.h"
#include "activator/io/pod_prober.h"
#include "activator/io/revision_book.h"
#include "common/loop/loop.h"
#include "common/messages/activator_stream.h"
#include "common/time/time_point.h"

#include <functional>
#include <memory>
#include <span>
#include <vector>

namespace sluice::activator {

/// Between the requests and the autoscaler: puts the autoscaler's messages in force, and sends it
/// each second what the requests are.
class AutoscalerDesk {
 public:
  /// Called each second with what was reported.
  using Reported = std::function<void(std::span<const RevisionStat>)>;

  /// All outlive this.
  AutoscalerDesk(Loop& clock, FrontGateway& front, PodProber& prober, RevisionBook& book)
      : clock_{clock}, front_{front}, prober_{prober}, book_{book}, ticker_{clock.timer()} {}

  /// Begins to report to `peer`, which outlives this: at `first`, then each second.
  void start(AutoscalerPeer& peer, TimePoint first, Reported reported);

  /// Puts a state in force, unless its revision is not known here.
  void apply(const proto::RevisionState& state);

  /// The autoscaler no longer has this revision.
  void forget(const RevisionId& revision);

  /// The first request of an idle revision.
  void poke(RevisionHandle revision, const RevisionStat& stat);

  /// What waits now.
  [[nodiscard]] std::vector<proto::Waiting> held() const;

 private:
  void tick();

  Loop& clock_;
  FrontGateway& front_;
  PodProber& prober_;
  RevisionBook& book_;
  std::unique_ptr<Timer> ticker_;
  TimePoint next_tick_{};
  AutoscalerPeer* peer_ = nullptr;  // null before start()
  Reported reported_;
};

}  // namespace sluice::activator
