#pragma once

#include "common/net/stream.h"

#include "load/core/ending.h"
#include "load/core/replay.h"
#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace sluice::loadgen {

class Exchange;
class H2Head;

using Exchanges = std::list<std::unique_ptr<Exchange>>;

/// A request, as its protocol takes it. All is borrowed until its end is reported.
struct Request {
  std::string_view head;  ///< HTTP/1: all of it; HTTP/2: the path
  std::string_view id;    ///< HTTP/2: value of X-Request-Id; empty: none
  std::string_view body;
  bool to_head = false;      ///< a HEAD request
  H2Head* fields = nullptr;  ///< HTTP/2: all but path and id
};

/// What is kept of an answer.
struct Answer {
  unsigned status = 0;
  bool refused = false;  ///< it carries Sluice-Error: Sluice made it itself (protocols.md 7)
  std::uint64_t bytes = 0;
  std::optional<unsigned> grpc = {};  ///< status of a gRPC call
};

/// Carries one request at a time and reports to its owner how each ended, exactly once. All calls
/// and all answers happen on the thread of the io_context.
class Exchange {
 public:
  class Owner {
   public:
    virtual ~Owner() = default;
    /// The request of `exchange` has ended; it may be given the next one at once.
    virtual void ended(Exchange& exchange, Ending ending) = 0;
    /// A connection was opened for the request on its way.
    virtual void connected(Exchange& exchange) = 0;
    /// An idle connection was closed by the peer.
    virtual void dropped(Exchange& exchange) = 0;
    /// A connection attempt or a connection failed with this text.
    virtual void failed(const std::string& text) = 0;
    /// By ALPN the peer wants HTTP/2 on the connection that was opened for the request, which
    /// continues there; the exchange is closed.
    virtual void chose_h2(Exchange& exchange, net::Stream stream) = 0;
  };

  Exchange() = default;
  virtual ~Exchange() = default;
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  virtual void send(const Request& request) = 0;

  /// Ends at once what is on its way, without an event, and with it a connection of its own.
  virtual void close() = 0;

  /// Of a connection of its own: open. The next request needs no other.
  [[nodiscard]] virtual bool is_open() const = 0;

  /// The request on its way waits for its connection.
  [[nodiscard]] virtual bool is_connecting() const = 0;

  [[nodiscard]] virtual Answer answer() const = 0;

  /// How many requests were sent on its own connection since that was opened.
  [[nodiscard]] virtual std::uint64_t carried() const = 0;

  /// Operations whose completion has not come yet.
  [[nodiscard]] virtual unsigned pending() const = 0;

  // The request on its way, kept here for the owner's book-keeping.
  PlannedRequest planned;
  Duration taken{0};
  Duration idle_since{0};
  std::string head;  ///< buffers that keep their capacity
  std::string id;
  Exchanges* home = nullptr;  ///< the owner's list of those that have nothing to do
  Exchanges* list = nullptr;  ///< the one it is in
  Exchanges::iterator place;  ///< and where in it
};

}  // namespace sluice::loadgen
