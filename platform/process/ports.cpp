#include "platform/process/ports.h"

#include <fmt/format.h>

#include "platform/process/listeners.h"
#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace sluice::local {
namespace {

bool binds_v4(std::uint16_t port, bool reuse) {
  const UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int on = 1;
  if (reuse) ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  // The wildcard conflicts with a socket on any address of the port, as we want.
  address.sin_addr.s_addr = htonl(INADDR_ANY);
  return ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
}

bool binds_v6(std::uint16_t port, bool reuse) {
  const UniqueFd socket(::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!socket) return true;  // no IPv6 here, so the port cannot be in use there
  const int on = 1;
  ::setsockopt(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
  if (reuse) ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  sockaddr_in6 address{};
  address.sin6_family = AF_INET6;
  address.sin6_port = htons(port);
  address.sin6_addr = in6addr_any;
  if (::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0)
    return true;
  return errno != EADDRINUSE;
}

/// Without SO_REUSEADDR a port with connections in TIME-WAIT does not bind: an app that does not
/// set the option either could not use it.
bool binds(std::uint16_t port, bool reuse = false) {
  return binds_v4(port, reuse) && binds_v6(port, reuse);
}

}  // namespace

PortLease::PortLease(PortAllocator& allocator, std::uint16_t port, const std::string& service,
                     UniqueFd lock)
    : allocator_(&allocator), port_(port), lock_(std::move(lock)) {
  allocator_->leased_.emplace(port, service);
}

PortLease::PortLease(PortLease&& other) noexcept
    : allocator_(std::exchange(other.allocator_, nullptr)),
      port_(std::exchange(other.port_, std::uint16_t{0})),
      lock_(std::move(other.lock_)) {}

PortLease& PortLease::operator=(PortLease&& other) noexcept {
  if (this == &other) return *this;
  release();
  allocator_ = std::exchange(other.allocator_, nullptr);
  port_ = std::exchange(other.port_, std::uint16_t{0});
  lock_ = std::move(other.lock_);
  return *this;
}

PortLease::~PortLease() {
  release();
}

void PortLease::release() {
  if (allocator_ == nullptr) return;
  allocator_->leased_.erase(port_);
  allocator_->freed_[port_] = allocator_->clock_.now();
  allocator_ = nullptr;
  port_ = 0;
  lock_.reset();
}

PortAllocator::PortAllocator(const Clock& clock, std::uint16_t first, std::uint16_t last)
    : clock_(clock), first_(first), last_(last) {}

// An abstract name belongs to the network namespace, as the port does: it is the same for engines
// of all users and runtime directories, and is free when its holder ends, however that is.
Result<UniqueFd, Problem> PortAllocator::lock(std::uint16_t port) const {
  UniqueFd held(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string name = fmt::format("sluice-port-{}", port);
  std::copy(name.begin(), name.end(), address.sun_path + 1);
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  if (held && ::bind(held.get(), reinterpret_cast<const sockaddr*>(&address), size) == 0) {
    return held;
  }
  if (held && errno == EADDRINUSE) {
    const auto ours = leased_.find(port);
    return Problem{fmt::format("port {} is reserved by {}", port,
                               ours == leased_.end() ? "a replica of another engine"
                                                     : "service " + ours->second),
                   "stop that or use another port"};
  }
  return Problem{fmt::format("cannot reserve port {}: {}", port, std::strerror(errno)),
                 "raise the limit of open files"};
}

Result<PortLease, Problem> PortAllocator::allocate(const std::string& service) {
  const TimePoint now = clock_.now();
  std::optional<Problem> lock_problem;
  for (int candidate = first_; candidate <= last_; ++candidate) {
    const auto port = static_cast<std::uint16_t>(candidate);
    if (leased_.contains(port)) continue;
    const auto freed = freed_.find(port);
    if (freed != freed_.end()) {
      if (now - freed->second < kPortRest) continue;
      freed_.erase(freed);
    }
    auto held = lock(port);
    if (!held) {
      lock_problem = held.error();
      continue;
    }
    if (binds(port)) return PortLease(*this, port, service, std::move(*held));
  }
  Problem problem{fmt::format("no free port from {} to {}", first_, last_),
                  "stop some replicas or free ports there"};
  if (lock_problem) problem.what += " (" + lock_problem->what + ")";
  return problem;
}

Result<PortLease, Problem> PortAllocator::reserve(std::uint16_t port, const std::string& service) {
  auto held = lock(port);
  if (!held) return held.error();
  if (binds(port, true)) return PortLease(*this, port, service, std::move(*held));
  return held_port(port, who_listens(port));
}

}  // namespace sluice::local
