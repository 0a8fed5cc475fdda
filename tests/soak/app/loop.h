#pragma once

#include "tests/soak/app/journal.h"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace sluice::soak {

/// Calls that are due at a time; one thread.
class Timers {
 public:
  using Id = std::pair<double, std::uint64_t>;

  Id after(double seconds, std::function<void()> call);

  void cancel(const Id& id) { due_.erase(id); }

  void run();
  /// Until the next call in milliseconds, -1 for none.
  [[nodiscard]] int wait_ms() const;

 private:
  std::map<Id, std::function<void()>> due_;
  std::uint64_t made_ = 0;
};

/// What a protocol may do with its connection.
class Wire {
 public:
  virtual ~Wire() = default;
  virtual void send(std::string_view bytes) = 0;
  /// Closes once everything is sent.
  virtual void finish() = 0;
};

/// What all connections share. Borrowed from the Server, which outlives its connections.
struct Room {
  Journal& journal;
  Timers& timers;
  bool ready = true;  // what /ready answers
};

/// One side of a connection above the bytes.
class Protocol {
 public:
  virtual ~Protocol() = default;
  /// False: the connection cannot be used again.
  virtual bool feed(std::string_view bytes) = 0;
};

std::unique_ptr<Protocol> make_h1(Wire& wire, Room& room);
std::unique_ptr<Protocol> make_h2(Wire& wire, Room& room);

/// Listens on 127.0.0.1:`port` and serves until it is killed. SIGUSR1 makes /ready fail, SIGUSR2
/// makes it succeed again.
class Server {
 public:
  explicit Server(Journal& journal);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  /// `after` in seconds: until then the port refuses. False when it could not begin.
  bool run(std::uint16_t port, double after);

 private:
  class Connection;

  bool listen_on(std::uint16_t port);
  void turn();
  void accept_all();
  void take_signals();
  void close(int fd);
  void settle();

  Timers timers_;
  Room room_;
  int poll_ = -1;
  int listener_ = -1;
  int signals_ = -1;
  std::map<int, std::unique_ptr<Connection>> connections_;
};

}  // namespace sluice::soak
