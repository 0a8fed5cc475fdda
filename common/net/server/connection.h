#pragma once

#include "common/time/time_point.h"

#include <chrono>
#include <cstddef>
#include <list>
#include <memory>

namespace sluice::net {

/// How long, and for how many bytes, a connection that has sent its last bytes drops what the
/// client still sends. A socket that is closed with unread bytes resets the connection, and those
/// last bytes may be lost with it.
inline constexpr Duration kLingerTime = std::chrono::seconds{2};
inline constexpr std::size_t kLingerBytesMax = 256 * 1024;

/// A client's connection as its server sees it: one HTTP/1 exchange after the other, or the streams
/// of HTTP/2.
class Connection {
 public:
  virtual ~Connection() = default;

  /// Takes up work; may close at once.
  virtual void start() = 0;

  /// Closes unless a request is being read or served; returns whether it does.
  virtual bool close_if_idle() = 0;

  /// The server drains from now on: announce it to the client where the protocol can.
  virtual void drain() = 0;

  /// Ends a connection that has switched protocols, where the protocol has words for it.
  virtual void close_tunnel() {}

  /// Closes whatever it does; requests end as if the client had left.
  virtual void abandon() = 0;

  /// The request whose head is being read is refused, since others need its memory or its place;
  /// the connection closes unless it serves other requests. Returns whether it closes.
  virtual bool give_way() { return false; }

 private:
  friend class OpenHeads;
  friend class ProxyServer;

  /// Its place among the server's open heads (open_heads.h).
  struct OpenHead {
    Connection* older = nullptr;
    Connection* newer = nullptr;
    TimePoint since{};
    std::size_t bytes = 0;
    bool open = false;
  };

  OpenHead open_head_;
  std::list<std::unique_ptr<Connection>>::iterator place_;
};

}  // namespace sluice::net
