#include "common/rpc/uncalled.h"

#include "common/values/whole_number.h"

#include <algorithm>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>

namespace sluice::rpc {
namespace {

std::uint16_t port_of(const net::Endpoint& endpoint) {
  sockaddr_storage storage{};
  std::copy_n(reinterpret_cast<const char*>(endpoint.data()),
              std::min(endpoint.size(), sizeof storage), reinterpret_cast<char*>(&storage));
  if (storage.ss_family == AF_INET6) {
    return ntohs(reinterpret_cast<const sockaddr_in6&>(storage).sin6_port);
  }
  if (storage.ss_family != AF_INET) return 0;
  return ntohs(reinterpret_cast<const sockaddr_in&>(storage).sin_port);
}

}  // namespace

std::uint16_t port_of(const std::string& peer) {
  const std::size_t colon = peer.rfind(':');
  if (colon == std::string::npos) return 0;
  return whole_number<std::uint16_t>(std::string_view{peer}.substr(colon + 1)).value_or(0);
}

Uncalled::Uncalled(boost::asio::io_context& io, std::function<void(const std::string& ip)> ended)
    : ended_{std::move(ended)}, hangups_{io, [this](void* key) {
                                           const auto at = std::ranges::find_if(
                                               open_,
                                               [key](const Open& each) { return &each == key; });
                                           if (at != open_.end()) forget(at);
                                         }} {}

Uncalled::~Uncalled() {
  while (!open_.empty()) forget(open_.begin());
}

// A descriptor of our own shows when gRPC has shut the connection down, and can do so itself.
void Uncalled::add(net::Socket& socket) {
  boost::system::error_code gone;
  const net::Endpoint peer = socket.remote_endpoint(gone);
  const int own = gone ? -1 : ::fcntl(socket.native_handle(), F_DUPFD_CLOEXEC, 0);
  if (own < 0) return;
  if (open_.size() >= kMax) {
    const std::string ip = open_.front().ip;
    ::shutdown(open_.front().descriptor, SHUT_RDWR);
    forget(open_.begin());
    ended_(ip);
  }
  open_.push_back({.descriptor = own, .port = port_of(peer), .ip = net::ip_of(peer)});
  hangups_.add(own, &open_.back());
}

void Uncalled::called(std::uint16_t port) {
  for (auto each = open_.begin(); each != open_.end();) {
    const auto next = std::next(each);
    if (each->port == port) forget(each);
    each = next;
  }
}

void Uncalled::forget(std::list<Open>::iterator each) {
  hangups_.remove(each->descriptor);
  ::close(each->descriptor);
  open_.erase(each);
}

}  // namespace sluice::rpc
