#pragma once

#include "activator/io/autoscaler_peer.h"
#include "common/log/log.h"

#include <boost/asio/io_context.hpp>

#include <memory>
#include <string>

namespace sluice::activator {

/// The rules of Knative's WebSocket to its autoscaler (activator.md 8.3).
struct KnativeLinkSpec {
  std::string target;                            ///< host:port; a name is resolved at each attempt
  std::string pod;                               ///< Stat.pod_name
  Duration handshake = std::chrono::seconds{3};  ///< for name, connection and handshake together
  Duration ping = std::chrono::milliseconds{3'330};
  Duration silence_max = std::chrono::seconds{10};  ///< without a pong
  Duration pause_first = std::chrono::milliseconds{100};
  double pause_growth = 1.3;  ///< and up to half more at random
  int pauses = 20;            ///< then from the first again
};

/// A Knative autoscaler, by its WebSocket: one binary WireStatMessages per interval, and one at
/// once for the first request of an idle revision. While the way is cut nothing is kept but what is
/// true anyway: when it opens again, every held request is reported at once, since the reference
/// loses such a poke (activator.md 8.1).
class KnativeLink final : public AutoscalerPeer {
 public:
  /// `log` outlives this.
  KnativeLink(boost::asio::io_context& io, const log::Logger& log, KnativeLinkSpec spec,
              PeerEvents events);
  ~KnativeLink() override;
  KnativeLink(const KnativeLink&) = delete;
  KnativeLink& operator=(const KnativeLink&) = delete;

  void start() override;
  void poke(const RevisionStat& stat, const proto::Waiting& held, TimePoint now) override;
  void tick(std::span<const RevisionStat> stats, std::span<const proto::Waiting> waiting,
            TimePoint now) override;

  /// Nothing comes down this way.
  [[nodiscard]] const proto::RevisionState* state(const RevisionId& /*revision*/) const override {
    return nullptr;
  }

  [[nodiscard]] bool reachable() const override;
  [[nodiscard]] std::uint64_t errors() const override;

 private:
  struct Inside;
  std::unique_ptr<Inside> inside_;
};

}  // namespace sluice::activator
