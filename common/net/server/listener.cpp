#include "common/net/server/listener.h"

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ip/v6_only.hpp>

#include <optional>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

namespace sluice::net {
namespace asio = boost::asio;
using boost::system::error_code;

namespace {

constexpr std::chrono::seconds kClientSilence{15};

Problem listen_problem(const Address& address, const error_code& ec) {
  if (ec == asio::error::address_in_use) {
    return {"cannot listen on " + address.text() + ": the address is in use",
            "stop the program that holds it, or give another port"};
  }
  return {"cannot listen on " + address.text() + ": " + ec.message(), "give another address"};
}

bool answers(const Address& address) {
  asio::io_context io;
  Socket socket{io};
  error_code ec;
  socket.connect(endpoint_of(address), ec);
  return !ec;
}

// Only a socket without a server is replaced: never one in use, never another kind of file.
std::optional<Problem> clear_place(const Address& address) {
  struct stat there {};

  if (::lstat(address.path.c_str(), &there) != 0) return std::nullopt;
  if (!S_ISSOCK(there.st_mode)) {
    return Problem{"cannot listen on " + address.text() + ": the file there is not a socket",
                   "remove it, or give another path"};
  }
  if (answers(address)) return listen_problem(address, asio::error::address_in_use);
  ::unlink(address.path.c_str());
  return std::nullopt;
}

std::pair<dev_t, ino_t> file_at(const std::string& path) {
  struct stat there {};

  if (::lstat(path.c_str(), &there) != 0) return {};
  return {there.st_dev, there.st_ino};
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
  alive_.end();
  close();
}

Result<Address, Problem> Listener::open(const Address& address) {
  if (address.is_unix()) {
    if (auto problem = clear_place(address)) return *problem;
  }
  error_code ec = asio::error::address_family_not_supported;
  // Without a host all interfaces are meant, of IPv6 too where there is any.
  const bool everywhere = !address.is_unix() && address.host.empty();
  if (everywhere) ec = bind_to(asio::ip::tcp::endpoint{asio::ip::tcp::v6(), address.port});
  const bool no_v6 = ec == asio::error::address_family_not_supported ||
                     ec == boost::system::errc::address_not_available;
  if (!everywhere || no_v6) ec = bind_to(endpoint_of(address));
  if (ec) return listen_problem(address, ec);
  if (address.is_unix()) {
    unix_path_ = address.path;
    unix_file_ = file_at(unix_path_);
  }
  Address bound = address;
  if (!address.is_unix()) bound.port = port_of(acceptor_.local_endpoint(ec));
  accept_next();
  return bound;
}

boost::system::error_code Listener::bind_to(const Endpoint& endpoint) {
  error_code ec;
  acceptor_.open(endpoint.protocol(), ec);
  const bool v6 = endpoint.protocol().family() == AF_INET6;
  if (!ec && endpoint.protocol().family() != AF_UNIX) {
    acceptor_.set_option(asio::socket_base::reuse_address{true}, ec);
    ask_if_alive(acceptor_.native_handle(), kClientSilence);
  }
  if (!ec && v6) acceptor_.set_option(asio::ip::v6_only{false}, ec);  // matters for [::] only
  if (!ec) acceptor_.bind(endpoint, ec);
  if (!ec) acceptor_.listen(4096, ec);
  if (!ec) acceptor_.non_blocking(true, ec);
  if (ec) {
    error_code ignored;
    acceptor_.close(ignored);
  }
  return ec;
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

void Listener::pause() {
  paused_ = true;
}

void Listener::resume() {
  if (!paused_) return;
  paused_ = false;
  accept_next();
}

void Listener::close() {
  error_code ignored;
  // Who is in the backlog has connected, and may have sent a request: closing would reset it.
  acceptor_.non_blocking(true, ignored);
  const Lifetime::Watch alive = alive_.watch();
  while (!alive.over() && acceptor_.is_open() && !paused_) {
    Socket waiting{io_};
    error_code ec;
    acceptor_.accept(waiting, ec);
    if (ec) break;
    accepted_(std::move(waiting));
    if (alive.over()) return;
  }
  // Another program may have taken the place meanwhile.
  if (acceptor_.is_open() && !unix_path_.empty() && file_at(unix_path_) == unix_file_) {
    ::unlink(unix_path_.c_str());
  }
  acceptor_.close(ignored);
  retry_timer_.cancel();
}

void Listener::accept_next() {
  if (accepting_ || paused_ || !acceptor_.is_open()) return;
  accepting_ = true;
  acceptor_.async_accept([this, alive = alive_.watch()](const error_code& ec, Socket socket) {
    if (alive.over()) return;
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
  retry_timer_.async_wait([this, alive = alive_.watch()](const error_code& ec) {
    if (alive.over() || ec) return;
    accept_next();
  });
}

}  // namespace sluice::net
