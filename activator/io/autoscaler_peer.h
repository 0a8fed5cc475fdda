#pragma once

#include "activator/core/request_reporter.h"
#include "common/base/ids.h"
#include "common/messages/activator_stream.h"
#include "common/time/time_point.h"

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace sluice::activator {

/// What the link to the autoscaler reports to the rest of the program. Called on the loop.
struct PeerEvents {
  /// A state is to be put in force for new requests before this returns.
  std::function<void(const proto::RevisionState&)> on_state;

  /// Nothing is known of this revision any more.
  std::function<void(const RevisionId&)> on_gone;

  /// An autoscaler has taken us up, for the first time or again.
  std::function<void()> on_reached;

  /// Every request that is held now.
  std::function<std::vector<proto::Waiting>()> held;
};

/// The activator's link to its autoscaler. What it misses while the link is down is kept or dropped
/// as each form defines; requests are not affected.
class AutoscalerPeer {
 public:
  virtual ~AutoscalerPeer() = default;

  virtual void start() = 0;

  /// The first request of an idle revision: sent in this call if the connection is open.
  virtual void poke(const RevisionStat& stat, const proto::Waiting& held, TimePoint now) = 0;

  /// Each second.
  virtual void tick(std::span<const RevisionStat> stats, std::span<const proto::Waiting> waiting,
                    TimePoint now) = 0;

  /// A start from zero is over. A peer that has no message for it ignores it.
  virtual void cold_start(const proto::ColdStart& /*start*/) {}

  /// The targets of all replicas from now on; not from within an event. A form with one address
  /// only ignores it.
  virtual void follow(const std::vector<std::string>& /*targets*/) {}

  /// What is in force for a revision; null without a state of it.
  [[nodiscard]] virtual const proto::RevisionState* state(const RevisionId& revision) const = 0;

  /// Whether the way is open now.
  [[nodiscard]] virtual bool reachable() const = 0;

  /// Connections that failed or ended, and messages that were dropped, so far.
  [[nodiscard]] virtual std::uint64_t errors() const = 0;
};

}  // namespace sluice::activator
