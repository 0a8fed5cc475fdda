#pragma once

#include "load/core/load_plan.h"
#include "load/io/exchange.h"
#include "load/io/h2_head.h"
#include "load/io/h2_pool.h"
#include "load/io/peer.h"
#include "load/io/ws_plan.h"
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace sluice::loadgen {

/// What is the same for all requests to a target.
struct Destination {
  Destination(const TargetPlan& what, std::size_t where, const LoadPlan& all);

  /// The request that `exchange` carries next, over HTTP/2 or 1; valid until that has ended. `ids`:
  /// those of the plan.
  [[nodiscard]] Request request(Exchange& exchange, const std::string& ids, bool h2);

  const TargetPlan& plan;  ///< of the run's plan
  std::size_t pool;
  bool always_same;  ///< HTTP/1: all requests have the same head
  std::uint64_t seed;
  /// HTTP/1, by SentAs: the head before and after the path; one that is always the same is all in
  /// `begins`.
  std::array<std::string, kSentAs> begins;
  std::array<std::string, kSentAs> ends;
  std::vector<H2Head> fields;  ///< HTTP/2, by SentAs
  std::optional<WsPlan> ws;    ///< WebSocket
  std::string body;            ///< as it is sent
};

/// Connections to one peer, which all targets there share.
struct Pool {
  Peer peer;
  Exchanges idle;  ///< HTTP/1: open; most recently used first, so that surplus ones grow old
  std::unique_ptr<H2Pool> h2;  ///< null: HTTP/1, or not known yet
};

/// The peer of a target at this numeric IP address; `tls` is used under TLS.
[[nodiscard]] Peer peer_of(const Target& target, const std::string& address,
                           const net::ClientTls* tls);

}  // namespace sluice::loadgen
