#include "tests/soak/app/loop.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>
#include <vector>

namespace sluice::soak {
namespace {

constexpr int kBacklog = 512;
constexpr int kEventsAtOnce = 64;
constexpr std::size_t kReadBytes = 64 * 1024;
constexpr int kPassesMax = 1000;
constexpr std::string_view kPreface = "PRI * HTTP/2.0";

bool watch(int poll, int fd, std::uint32_t events, int operation = EPOLL_CTL_ADD) {
  epoll_event event{};
  event.events = events;
  event.data.fd = fd;
  return epoll_ctl(poll, operation, fd, &event) == 0;
}

}  // namespace

Timers::Id Timers::after(double seconds, std::function<void()> call) {
  const Id id{monotonic_seconds() + seconds, ++made_};
  due_.emplace(id, std::move(call));
  return id;
}

void Timers::run() {
  const double now = monotonic_seconds();
  while (!due_.empty() && due_.begin()->first.first <= now) {
    const std::function<void()> call = std::move(due_.begin()->second);
    due_.erase(due_.begin());
    call();
  }
}

int Timers::wait_ms() const {
  if (due_.empty()) return -1;
  const double left = due_.begin()->first.first - monotonic_seconds();
  return std::max(0, static_cast<int>(std::ceil(left * 1000)));
}

class Server::Connection final : public Wire {
 public:
  Connection(int poll, int fd, Room& room) : poll_{poll}, fd_{fd}, room_{room} {}

  ~Connection() override { ::close(fd_); }

  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  void send(std::string_view bytes) override {
    unsent_.append(bytes);
    flush();
  }

  void finish() override {
    finished_ = true;
    flush();
  }

  /// Reads all there is. False when the connection is over.
  bool read_all() {
    std::array<char, kReadBytes> space;
    while (!broken_) {
      const ssize_t got = ::read(fd_, space.data(), space.size());
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return errno == EAGAIN;
      if (got == 0) return false;
      if (!take({space.data(), static_cast<std::size_t>(got)})) return false;
    }
    return false;
  }

  bool flush() {
    while (!unsent_.empty() && !broken_) {
      const ssize_t sent = ::send(fd_, unsent_.data(), unsent_.size(), MSG_NOSIGNAL);
      if (sent < 0 && errno == EINTR) continue;
      if (sent < 0 && errno == EAGAIN) break;
      if (sent < 0) {
        broken_ = true;
        return false;
      }
      unsent_.erase(0, static_cast<std::size_t>(sent));
    }
    const bool wants_room = !unsent_.empty();
    if (wants_room != waits_for_room_) {
      waits_for_room_ = wants_room;
      watch(poll_, fd_, wants_room ? EPOLLIN | EPOLLOUT : EPOLLIN, EPOLL_CTL_MOD);
    }
    // The reader sees the end and closes: the other side has everything by then.
    if (unsent_.empty() && finished_) ::shutdown(fd_, SHUT_WR);
    return !broken_;
  }

 private:
  bool take(std::string_view bytes) {
    if (protocol_) return protocol_->feed(bytes);
    first_.append(bytes);
    const std::size_t known = std::min(first_.size(), kPreface.size());
    const bool h2 = std::string_view{first_}.substr(0, known) == kPreface.substr(0, known);
    if (h2 && known < kPreface.size()) return true;
    protocol_ = h2 ? make_h2(*this, room_) : make_h1(*this, room_);
    return protocol_->feed(first_);
  }

  int poll_;
  int fd_;
  Room& room_;
  std::string first_;
  std::string unsent_;
  bool waits_for_room_ = false;
  bool finished_ = false;
  bool broken_ = false;
  std::unique_ptr<Protocol> protocol_;  // last: it abandons what runs while the rest still stands
};

Server::Server(Journal& journal) : room_{journal, timers_} {}

Server::~Server() {
  connections_.clear();
  for (const int fd : {signals_, listener_, poll_}) {
    if (fd >= 0) ::close(fd);
  }
}

bool Server::run(std::uint16_t port, double after) {
  poll_ = epoll_create1(EPOLL_CLOEXEC);
  sigset_t asked{};
  sigemptyset(&asked);
  sigaddset(&asked, SIGUSR1);
  sigaddset(&asked, SIGUSR2);
  sigprocmask(SIG_BLOCK, &asked, nullptr);
  signals_ = signalfd(-1, &asked, SFD_NONBLOCK | SFD_CLOEXEC);
  if (poll_ < 0 || signals_ < 0 || !watch(poll_, signals_, EPOLLIN)) return false;
  bool failed = false;
  if (after > 0) {
    timers_.after(after, [this, port, &failed] { failed = !listen_on(port); });
  } else {
    failed = !listen_on(port);
  }
  while (!failed) turn();
  return false;
}

bool Server::listen_on(std::uint16_t port) {
  listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  const int on = 1;
  setsockopt(listener_, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  // The driver holds the port with a socket that is bound and never listens.
  setsockopt(listener_, SOL_SOCKET, SO_REUSEPORT, &on, sizeof on);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (bind(listener_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      listen(listener_, kBacklog) != 0 || !watch(poll_, listener_, EPOLLIN)) {
    std::perror("soak_app: listen");
    return false;
  }
  return true;
}

void Server::turn() {
  std::array<epoll_event, kEventsAtOnce> events;
  const int count = epoll_wait(poll_, events.data(), kEventsAtOnce, timers_.wait_ms());
  for (int i = 0; i < count; ++i) {
    const int fd = events[static_cast<std::size_t>(i)].data.fd;
    const std::uint32_t what = events[static_cast<std::size_t>(i)].events;
    if (fd == listener_) {
      accept_all();
    } else if (fd == signals_) {
      take_signals();
    } else if (const auto found = connections_.find(fd); found != connections_.end()) {
      const bool writes = (what & EPOLLOUT) == 0 || found->second->flush();
      if (!writes || ((what & ~EPOLLOUT) != 0 && !found->second->read_all())) close(fd);
    }
  }
  timers_.run();
  if (room_.journal.seems_crowded()) settle();
}

void Server::accept_all() {
  while (true) {
    const int fd = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0) return;
    const int on = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    connections_.emplace(fd, std::make_unique<Connection>(poll_, fd, room_));
    watch(poll_, fd, EPOLLIN);
  }
}

void Server::take_signals() {
  signalfd_siginfo got{};
  while (::read(signals_, &got, sizeof got) == sizeof got) {
    room_.ready = got.ssi_signo == SIGUSR2;
  }
}

void Server::close(int fd) {
  connections_.erase(fd);
}

// The sidecar ends what it gives up before it sends what takes the place, but on another
// connection, which may have been read first. Goal: count no request that was given up. Method:
// read every connection until a whole pass begins nothing new; each end that preceded the newest
// begin is then known.
void Server::settle() {
  for (int pass = 0; pass < kPassesMax && room_.journal.seems_crowded(); ++pass) {
    const long before = room_.journal.begun();
    std::vector<int> over;
    for (const auto& [fd, connection] : connections_) {
      if (!connection->read_all()) over.push_back(fd);
    }
    for (const int fd : over) close(fd);
    if (room_.journal.begun() == before) break;
  }
  if (room_.journal.seems_crowded()) room_.journal.crowded();
}

}  // namespace sluice::soak
