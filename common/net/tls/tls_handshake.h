#pragma once

#include "common/net/server/connection.h"
#include "common/net/socket.h"
#include "common/net/tls/tls.h"
#include "common/time/time_point.h"

#include <boost/asio/steady_timer.hpp>

#include <memory>

namespace sluice::net {

class ProxyServer;

/// A connection of a TLS listener until its handshake is over. Then the server gets the stream and
/// the protocol that was agreed on. All of it, with the first request's head, has the time of one
/// head; a client that sends nothing costs a socket and no session.
///
///   waiting ─► shaking hands ─► handed over
///                   └─► refused (drains, so that the alert or the answer arrives) ─► closed
class TlsHandshake final : public Connection {
 public:
  /// `sessions` outlives the server.
  TlsHandshake(ProxyServer& server, TlsSessions& sessions, Socket socket);
  ~TlsHandshake() override;
  TlsHandshake(const TlsHandshake&) = delete;
  TlsHandshake& operator=(const TlsHandshake&) = delete;

  void start() override;

 private:
  enum class Phase : std::uint8_t { shaking, refused, over };

  bool close_if_idle() override;
  bool give_way() override;

  void drain() override {}

  void abandon() override;

  void wait(Socket::wait_type what);
  void on_ready();
  void step();
  void hand_over();
  void refuse();
  void drop_input();
  void arm(Duration wait);
  void close();
  void release_if_done();

  ProxyServer& server_;  // owns this connection
  TlsSessions& sessions_;
  Socket socket_;
  boost::asio::steady_timer timer_;
  std::unique_ptr<TlsSession> session_;
  TimePoint accepted_{};
  std::size_t dropped_ = 0;
  int operations_ = 0;  // asynchronous operations that still point here
  Phase phase_ = Phase::shaking;
  bool retired_ = false;
};

}  // namespace sluice::net
