#pragma once

#include "common/net/exchange.h"
#include "common/net/hangup_watch.h"
#include "common/net/listener.h"
#include "common/time/clock.h"

#include <functional>
#include <list>
#include <memory>
#include <vector>

namespace sluice::net {

struct ServerLimits {
  std::size_t head_bytes_max = 1 << 20;  ///< header block; beyond it 431
  std::size_t connections_max = 16'384;  ///< beyond it accepting pauses
  Duration head_timeout = std::chrono::seconds{60};
  Duration unused_timeout = std::chrono::minutes{10};  ///< between two requests of a connection
};

/// Serves HTTP/1.1 on any number of addresses for one gateway. Belongs to one thread.
class ProxyServer {
 public:
  ProxyServer(boost::asio::io_context& io, const Clock& clock, Gateway& gateway,
              const ServerLimits& limits);
  ~ProxyServer();
  ProxyServer(const ProxyServer&) = delete;
  ProxyServer& operator=(const ProxyServer&) = delete;

  /// Starts to listen; returns the address in force.
  [[nodiscard]] Result<Address, Problem> listen(const Address& address);
  [[nodiscard]] Result<Address, Problem> adopt(int descriptor);

  /// From now on every response says so and closes its connection. Idle connections stay, since
  /// their next request may be on its way; it is answered like any other.
  void close_after_responses() { closing_ = true; }

  /// Closes the connections that serve no request now.
  void close_idle();

  /// Takes no more connections; those that are open go on.
  void stop_accepting();

  /// Closes every connection, whatever it does.
  void close_all();

  [[nodiscard]] std::size_t connections() const { return exchanges_.size(); }

  /// Requests between begin and end.
  [[nodiscard]] std::size_t in_flight() const { return in_flight_; }

  /// Called each time `in_flight` falls to zero.
  void on_quiet(std::function<void()> quiet) { quiet_ = std::move(quiet); }

 private:
  friend class Exchange;

  void accepted(Socket socket);
  void retire(Exchange& exchange);
  void bury();

  void begun() { ++in_flight_; }

  void ended();

  boost::asio::io_context& io_;
  const Clock& clock_;
  Gateway& gateway_;
  ServerLimits limits_;
  HangupWatch hangups_;
  std::vector<std::unique_ptr<Listener>> listeners_;
  std::list<std::unique_ptr<Exchange>> exchanges_;
  std::list<std::unique_ptr<Exchange>> retired_;
  std::function<void()> quiet_;
  std::size_t in_flight_ = 0;
  bool closing_ = false;
  bool burying_ = false;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace sluice::net
