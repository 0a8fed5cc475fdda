#pragma once

#include "common/base/lifetime.h"
#include "common/net/server/listener.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

namespace sluice::rpc {

/// One TCP address for TLS and plain text: each connection is dispatched by its first byte, which
/// stays unread. Belongs to one thread.
class FirstByte {
 public:
  /// A connection that has said nothing for so long is closed. So many may wait; for one more, the
  /// one that has waited longest is closed.
  static constexpr std::chrono::seconds kSilence{10};
  static constexpr std::size_t kWaitingMax = 512;

  struct Events {
    std::function<void(net::Socket)> tls;
    std::function<void(net::Socket)> plain;
  };

  FirstByte(boost::asio::io_context& io, Events events);
  ~FirstByte();
  FirstByte(const FirstByte&) = delete;
  FirstByte& operator=(const FirstByte&) = delete;

  [[nodiscard]] Result<net::Address, Problem> open(const net::Address& address);

  /// Ends a connection that speaks plain HTTP/2 with a GOAWAY that says why, and gives the peer a
  /// second to read it.
  void turn_away(net::Socket socket, std::string_view why);

 private:
  struct Waiting {
    Waiting(boost::asio::io_context& io, net::Socket of) : socket(std::move(of)), timer(io) {}

    net::Socket socket;
    boost::asio::steady_timer timer;
  };

  std::uint64_t keep(net::Socket socket, std::chrono::seconds limit);
  void accepted(net::Socket socket);
  void readable(std::uint64_t id);

  boost::asio::io_context& io_;  // of the Server's user
  Events events_;
  net::Listener listener_;
  std::map<std::uint64_t, Waiting> waiting_;
  std::uint64_t next_ = 1;
  Lifetime alive_;
};

/// SETTINGS and a GOAWAY with INADEQUATE_SECURITY and that text: what a client shows its user.
[[nodiscard]] std::string goodbye_frames(std::string_view why);

}  // namespace sluice::rpc
