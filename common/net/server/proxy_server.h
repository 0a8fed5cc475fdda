#pragma once

#include "common/base/lifetime.h"
#include "common/net/byte_buffer.h"
#include "common/net/server/connection.h"
#include "common/net/server/exchange.h"
#include "common/net/server/hangup_watch.h"
#include "common/net/server/listener.h"
#include "common/net/server/open_heads.h"
#include "common/net/server/page_return.h"
#include "common/net/stream.h"
#include "common/time/clock.h"

#include <boost/asio/steady_timer.hpp>

#include <functional>
#include <list>
#include <memory>
#include <vector>

namespace sluice::net {

class ProxyServer;

/// How many connections servers of one thread have together, and may have. A server that none is
/// shared with has its own.
class ConnectionCount {
 public:
  explicit ConnectionCount(std::size_t most) : most_{most} {}

  [[nodiscard]] std::size_t open() const { return open_; }

  [[nodiscard]] bool full() const { return open_ >= most_; }

 private:
  friend class ProxyServer;

  std::size_t most_;
  std::size_t open_ = 0;
  std::vector<ProxyServer*> servers_;
  std::vector<ProxyServer*> paused_;  // of them: these stop accepting until there is room
};

struct ServerLimits {
  std::size_t head_bytes_max = 1 << 20;  ///< header block; beyond it 431
  std::size_t fields_max = 1000;         ///< of one head; beyond it 431
  /// Memory of the heads that are being read, beyond the first buffer of each connection. When it
  /// is used up, the oldest head is dropped for a new one: 503.
  std::size_t open_heads_bytes_max = 64 << 20;
  std::size_t connections_max = 16'384;  ///< beyond it accepting pauses
  /// Counts instead of connections_max; outlives the servers that share it. Each may have one
  /// connection more when it is full, which goes as soon as another can.
  ConnectionCount* shared = nullptr;
  /// Beyond it a request that waits keeps no buffer; below, one is at hand for the next request.
  std::size_t roomy_connections = 1024;
  std::size_t upgrade_body_max = 64 * 1024;  ///< of a request that asks for h2c; beyond it 413
  std::uint32_t streams_max = 250;           ///< of one HTTP/2 connection at a time
  std::uint32_t control_frames_max = 1000;   ///< HTTP/2 frames that carry nothing, in ten seconds
  Duration head_timeout = std::chrono::seconds{60};
  /// A head that is incomplete for so long closes first when connections run out.
  Duration slow_head = std::chrono::seconds{1};
  /// For a client that takes none of its response in that time: the request ends. 0 = off.
  Duration write_timeout = std::chrono::seconds{60};
  Duration unused_timeout = std::chrono::minutes{10};  ///< between two requests of a connection
  Duration body_timeout{0};  ///< the client sends none of its body that long: 408; 0 = off
  /// An upload continues after its response as long as it moves within this time.
  Duration upload_patience = std::chrono::seconds{5};
};

/// Serves HTTP on any number of addresses for one gateway. Belongs to one thread.
class ProxyServer {
 public:
  ProxyServer(boost::asio::io_context& io, const Clock& clock, Gateway& gateway,
              const ServerLimits& limits);
  ~ProxyServer();
  ProxyServer(const ProxyServer&) = delete;
  ProxyServer& operator=(const ProxyServer&) = delete;

  /// Starts to listen; returns the address in force. With `sessions`, which outlive the server, for
  /// TLS connections.
  [[nodiscard]] Result<Address, Problem> listen(const Address& address,
                                                TlsSessions* sessions = nullptr);
  [[nodiscard]] Result<Address, Problem> adopt(int descriptor, TlsSessions* sessions = nullptr);

  /// From now on every response announces it and closes its connection. Idle connections stay,
  /// since their next request may be on its way; it is answered like any other.
  void close_after_responses();

  /// Closes the connections that serve no request now.
  void close_idle();

  /// From now on the clients of WebSockets get a Close frame; they end when both sides have closed.
  void close_tunnels();

  /// Accepts no new connections; open ones continue.
  void stop_accepting();

  /// Closes every connection, whatever it does.
  void close_all();

  [[nodiscard]] std::size_t connections() const { return connections_.size(); }

  /// Requests between begin and end.
  [[nodiscard]] std::size_t in_flight() const { return in_flight_; }

  /// Called each time `in_flight` falls to zero.
  void on_quiet(std::function<void()> quiet) { quiet_ = std::move(quiet); }

 private:
  friend class H1Exchange;
  friend class H2Connection;
  friend class H2Stream;
  friend class TlsHandshake;

  [[nodiscard]] std::unique_ptr<Listener> listener_for(TlsSessions* sessions);
  [[nodiscard]] Result<Address, Problem> keep(std::unique_ptr<Listener> listener,
                                              Result<Address, Problem> bound);
  void accepted(Socket socket);
  void secured(Stream stream, bool h2, TimePoint accepted);
  void add(std::unique_ptr<Connection> connection);
  void make_room();
  [[nodiscard]] bool close_idle_one();
  void pause();
  void resume();
  void look_for_room_again();
  [[nodiscard]] bool close_open_head(TimePoint begun_by);
  [[nodiscard]] Connection* oldest_unfinished() const;

  /// A drain has begun, or others wait for a place: connections end with their response.
  [[nodiscard]] bool ends_connections() const { return closing_ || count_.full(); }

  void retire(Connection& connection);
  void bury();

  void begun() { ++in_flight_; }

  void ended();

  boost::asio::io_context& io_;
  const Clock& clock_;
  Gateway& gateway_;
  ServerLimits limits_;
  ConnectionCount own_count_;
  ConnectionCount& count_;  // limits_.shared, or own_count_
  HangupWatch hangups_;
  BlockPool blocks_;  // outlives the connections
  std::vector<std::unique_ptr<Listener>> listeners_;
  std::list<std::unique_ptr<Connection>> connections_;
  std::list<std::unique_ptr<Connection>> retired_;
  OpenHeads heads_;  // of connections_, so it goes before them
  OpenHeads handshakes_{
      0};  // likewise: connections that have begun TLS and take no memory of heads
  PageReturn pages_;
  boost::asio::steady_timer room_timer_;
  std::function<void()> quiet_;
  std::size_t in_flight_ = 0;
  std::size_t connections_most_ = 0;  // since pages were last returned for connections
  bool closing_ = false;
  bool closing_tunnels_ = false;
  bool looking_for_room_ = false;  // room_timer_ is set
  bool burying_ = false;
  Lifetime alive_;
};

}  // namespace sluice::net
