#include "common/net/socket.h"

#include "common/net/peer_socket.h"

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>

#include <arpa/inet.h>
#include <cstring>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace sluice::net {
namespace asio = boost::asio;

Endpoint endpoint_of(const Address& address) {
  if (address.is_unix()) return asio::local::stream_protocol::endpoint{address.path};
  const auto ip = address.host.empty() ? asio::ip::address{asio::ip::address_v4::any()}
                                       : asio::ip::make_address(address.host);
  return asio::ip::tcp::endpoint{ip, address.port};
}

std::string ip_of(const Endpoint& endpoint) {
  char text[INET6_ADDRSTRLEN] = "";
  const auto* raw = static_cast<const sockaddr*>(endpoint.data());
  if (raw->sa_family == AF_INET) {
    inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in*>(raw)->sin_addr, text, sizeof text);
  } else if (raw->sa_family == AF_INET6) {
    inet_ntop(AF_INET6, &reinterpret_cast<const sockaddr_in6*>(raw)->sin6_addr, text, sizeof text);
  }
  const std::string_view shown{text};
  return std::string{shown.starts_with("::ffff:") ? shown.substr(7) : shown};
}

bool is_local(const Endpoint& endpoint) {
  const std::string ip = ip_of(endpoint);
  return ip.empty() || ip == "::1" || ip.starts_with("127.");
}

void prepare(Socket& socket) {
  boost::system::error_code ignored;
  socket.non_blocking(true, ignored);
  const int on = 1;
  // Fails on Unix sockets, which do not delay anyway.
  ::setsockopt(socket.native_handle(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

void ask_if_alive(int descriptor, std::chrono::seconds silence) {
  const auto set = [descriptor](int level, int name, int value) {
    ::setsockopt(descriptor, level, name, &value, sizeof value);
  };
  const int seconds = static_cast<int>(silence.count());
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, seconds);
  set(IPPROTO_TCP, TCP_KEEPINTVL, seconds);
  set(IPPROTO_TCP, TCP_KEEPCNT, 9);
}

Duration round_trip_of(Socket& socket) {
  tcp_info info{};
  socklen_t size = sizeof info;
  if (::getsockopt(socket.native_handle(), IPPROTO_TCP, TCP_INFO, &info, &size) != 0) {
    return Duration{0};
  }
  return std::chrono::microseconds{info.tcpi_rtt};
}

long write_now(Socket& socket, std::string_view first, std::string_view second, bool& would_block) {
  iovec parts[2] = {{const_cast<char*>(first.data()), first.size()},
                    {const_cast<char*>(second.data()), second.size()}};
  msghdr message{};
  message.msg_iov = parts;
  message.msg_iovlen = second.empty() ? 1 : 2;
  would_block = false;
  while (true) {
    const ssize_t sent = ::sendmsg(socket.native_handle(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent >= 0) {
      would_block = static_cast<std::size_t>(sent) < first.size() + second.size();
      return sent;
    }
    if (errno == EINTR) continue;
    if (errno == EAGAIN || errno == EWOULDBLOCK) {
      would_block = true;
      return 0;
    }
    return -1;
  }
}

long read_now(Socket& socket, char* to, std::size_t bytes) {
  while (true) {
    const ssize_t got = ::recv(socket.native_handle(), to, bytes, MSG_DONTWAIT);
    if (got >= 0 || errno != EINTR) return got;
  }
}

Peer peer_after_eof(Socket& socket) {
  const int fd = socket.native_handle();
  pollfd state{fd, POLLIN | POLLRDHUP, 0};
  if (::poll(&state, 1, 0) > 0 && (state.revents & (POLLHUP | POLLERR)) != 0) return Peer::gone;
  const auto ends = ends_of(fd);
  if (!ends) return Peer::gone;
  if (ends->local.ss_family == AF_UNIX) return Peer::there;
  if (!is_local(Endpoint{&ends->remote, sizeof(sockaddr_in6)})) return Peer::unknown;
  // A socket that its process has closed is an orphan: it has no inode any more, or is not found.
  const PeerSocket peer = find_peer(*ends);
  if (peer.search == PeerSocket::Search::unknown) return Peer::unknown;
  return peer.search == PeerSocket::Search::missing || peer.inode == 0 ? Peer::gone : Peer::there;
}

}  // namespace sluice::net
