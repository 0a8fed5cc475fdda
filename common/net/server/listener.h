#pragma once

#include "common/base/lifetime.h"
#include "common/net/socket.h"

#include <boost/asio/basic_socket_acceptor.hpp>
#include <boost/asio/steady_timer.hpp>

#include <functional>
#include <memory>

namespace sluice::net {

/// Accepts connections on one address. Belongs to one thread; must outlive its io_context's run, or
/// be closed and left alone until its handlers have run.
class Listener {
 public:
  using Accepted = std::function<void(Socket)>;

  Listener(boost::asio::io_context& io, Accepted accepted);
  ~Listener();
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  /// Binds and listens; without a host on all interfaces, IPv6 included. A Unix socket that no
  /// process serves any more is replaced; an address in use, or a file of another kind there, is an
  /// error that names it. Returns the address in force, with the real port.
  [[nodiscard]] Result<Address, Problem> open(const Address& address);

  /// Listens on a descriptor that a service manager passed.
  [[nodiscard]] Result<Address, Problem> adopt(int descriptor);

  /// Stops accepting for now; the backlog of the kernel fills meanwhile.
  void pause();
  void resume();
  void close();

 private:
  using Acceptor = boost::asio::basic_socket_acceptor<boost::asio::generic::stream_protocol>;

  [[nodiscard]] boost::system::error_code bind_to(const Endpoint& endpoint);
  void accept_next();
  void retry_later();

  boost::asio::io_context& io_;
  Acceptor acceptor_;
  boost::asio::steady_timer retry_timer_;
  Accepted accepted_;
  std::string unix_path_;
  std::pair<dev_t, ino_t> unix_file_{};  // of our socket there
  bool accepting_ = false;
  bool paused_ = false;
  Lifetime alive_;
};

}  // namespace sluice::net
