#pragma once

#include "common/base/result.h"
#include "common/log/log.h"
#include "common/messages/stat.h"
#include "common/net/address.h"
#include "common/time/time_point.h"

#include <boost/asio/io_context.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace sluice::autoscaler {

/// Bounds of the door for WebSocket stats.
struct StatSocketLimits {
  std::size_t connections_max = 1000;                ///< more are closed unread
  std::size_t head_bytes_max = 16 * 1024;            ///< of the opening request
  Duration opening = std::chrono::seconds{10};       ///< from connection to WebSocket
  Duration closing = std::chrono::seconds{2};        ///< for the close frames of a shutdown
  Duration silence_probe = std::chrono::minutes{3};  ///< TCP asks a silent peer this often
};

/// What came in, for metrics.
struct StatSocketCounts {
  std::uint64_t frames = 0;       ///< binary frames that were read
  std::uint64_t undecodable = 0;  ///< dropped: no WireStatMessages
  std::uint64_t text = 0;         ///< dropped: text frames
  std::uint64_t refused = 0;      ///< connections: too many, or for another replica's bucket
};

/// The door through which Knative's activators, and fellow replicas, push stats: binary WebSocket
/// frames on any path (autoscaler.md 1.3). Belongs to one thread.
class StatSocket {
 public:
  struct Events {
    /// The stats of one frame, not judged.
    std::function<void(std::span<const proto::StatMessage>)> stats;
  };

  /// `owned`: the buckets that are ours; a connection meant for another is dropped. `log` outlives
  /// this.
  StatSocket(boost::asio::io_context& io, const log::Logger& log, std::vector<std::string> owned,
             Events events, StatSocketLimits limits = {});

  /// Closes every connection at once.
  ~StatSocket();
  StatSocket(const StatSocket&) = delete;
  StatSocket& operator=(const StatSocket&) = delete;

  /// Binds and serves. Returns the address in force.
  [[nodiscard]] Result<net::Address, Problem> open(const net::Address& address);

  /// Other buckets are ours now. Connections that are open stay: what comes through them is passed
  /// on.
  void set_owned(std::vector<std::string> owned);

  /// Closes every client with 1012, so that it reconnects to another replica, and accepts none;
  /// `closed` is called when all are gone, or when the time is up.
  void close(std::function<void()> closed);

  /// WebSockets that are open.
  [[nodiscard]] std::size_t connected() const;

  [[nodiscard]] const StatSocketCounts& counts() const;

 private:
  struct State;
  struct Session;
  std::shared_ptr<State> state_;  // shared with sessions that end later than this
};

}  // namespace sluice::autoscaler
