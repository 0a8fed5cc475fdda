#include "common/net/listener.h"

#include <boost/asio/ip/tcp.hpp>

#include <sys/socket.h>
#include <unistd.h>

namespace sluice::net {
namespace asio = boost::asio;
using boost::system::error_code;

namespace {

Problem listen_problem(const Address& address, const error_code& ec) {
  if (ec == asio::error::address_in_use) {
    return {"cannot listen on " + address.text() + ": the address is in use",
            "stop the program that holds it, or give another port"};
  }
  return {"cannot listen on " + address.text() + ": " + ec.message(), "give another address"};
}

std::uint16_t port_of(const Endpoint& endpoint) {
  const auto* raw = static_cast<const sockaddr*>(endpoint.data());
  if (raw->sa_family == AF_INET) {
    return ntohs(reinterpret_cast<const sockaddr_in*>(raw)->sin_port);
  }
  if (raw->sa_family == AF_INET6) {
    return ntohs(reinterpret_cast<const sockaddr_in6*>(raw)->sin6_port);
  }
  return 0;
}

}  // namespace

Listener::Listener(asio::io_context& io, Accepted accepted)
    : io_{io}, acceptor_{io}, retry_timer_{io}, accepted_{std::move(accepted)} {}

Listener::~Listener() {
  *alive_ = false;
  close();
}

Result<Address, Problem> Listener::open(const Address& address) {
  error_code ec;
  const Endpoint endpoint = endpoint_of(address);
  if (address.is_unix()) ::unlink(address.path.c_str());
  acceptor_.open(endpoint.protocol(), ec);
  if (!ec && !address.is_unix()) {
    acceptor_.set_option(asio::socket_base::reuse_address{true}, ec);
  }
  if (!ec) acceptor_.bind(endpoint, ec);
  if (!ec) acceptor_.listen(4096, ec);
  if (!ec) acceptor_.non_blocking(true, ec);
  if (ec) {
    error_code ignored;
    acceptor_.close(ignored);
    return listen_problem(address, ec);
  }
  unix_path_ = address.path;
  Address bound = address;
  if (!address.is_unix()) bound.port = port_of(acceptor_.local_endpoint(ec));
  accept_next();
  return bound;
}

Result<Address, Problem> Listener::adopt(int descriptor) {
  sockaddr_storage name{};
  socklen_t size = sizeof name;
  error_code ec;
  if (::getsockname(descriptor, reinterpret_cast<sockaddr*>(&name), &size) != 0) {
    return Problem{"the passed socket " + std::to_string(descriptor) + " is not a socket",
                   "check the service manager's socket unit"};
  }
  const Endpoint endpoint{&name, size};
  acceptor_.assign(endpoint.protocol(), descriptor, ec);
  if (!ec) acceptor_.non_blocking(true, ec);
  if (ec) return Problem{"cannot use the passed socket: " + ec.message(), ""};
  Address bound;
  bound.host = ip_of(endpoint);
  bound.port = port_of(endpoint);
  accept_next();
  return bound;
}

void Listener::pause() { paused_ = true; }

void Listener::resume() {
  if (!paused_) return;
  paused_ = false;
  accept_next();
}

void Listener::close() {
  error_code ignored;
  if (acceptor_.is_open() && !unix_path_.empty()) ::unlink(unix_path_.c_str());
  acceptor_.close(ignored);
  retry_timer_.cancel();
}

void Listener::accept_next() {
  if (accepting_ || paused_ || !acceptor_.is_open()) return;
  accepting_ = true;
  acceptor_.async_accept([this, alive = alive_](const error_code& ec, Socket socket) {
    if (!*alive) return;
    accepting_ = false;
    if (ec == asio::error::operation_aborted) return;
    if (ec) {
      // Out of descriptors or memory: what is open must end before more can begin.
      retry_later();
      return;
    }
    accepted_(std::move(socket));
    accept_next();
  });
}

void Listener::retry_later() {
  retry_timer_.expires_after(std::chrono::milliseconds{50});
  retry_timer_.async_wait([this, alive = alive_](const error_code& ec) {
    if (!*alive || ec) return;
    accept_next();
  });
}

}  // namespace sluice::net
