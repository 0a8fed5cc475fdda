#pragma once

#include "common/api/api_request.h"
#include "common/base/result.h"
#include "common/net/address.h"
#include "common/time/time_point.h"

#include <boost/asio/io_context.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>

namespace sluice::api {

/// Bounds of the API server.
struct ApiServerLimits {
  std::uint32_t header_bytes_max = 16U << 10U;
  std::uint64_t body_bytes_max = 4U << 20U;        ///< with Proof::socket; a larger one gets 413
  std::uint64_t door_body_bytes_max = 64U << 10U;  ///< likewise, of every other request
  std::size_t connections_max = 64;                ///< of one proof
  std::size_t streams_max = 64;                    ///< of one proof; more get 503
  Duration idle = std::chrono::seconds{60};        ///< for one request, and for one write
  Duration heartbeat = std::chrono::seconds{15};   ///< comment on an event stream without events
  /// Parts of an answer are made for so long in one turn of the loop, one at least.
  Duration turn = std::chrono::microseconds{100};
};

/// The HTTP+JSON API of a program over TCP or Unix sockets (protocols.md 5): HTTP/1.1, bodies read
/// whole, answers whole or as a stream of events. Runs on the given loop's one thread and serves
/// any Host. A connection beyond the limit takes the place of the one that has waited longest
/// without a request; where all are being answered it gets 503 and is closed.
class ApiServer {
 public:
  using Limits = ApiServerLimits;

  /// `source` outlives the server.
  ApiServer(boost::asio::io_context& loop, ApiSource& source, Limits limits = {});
  ApiServer(const ApiServer&) = delete;
  ApiServer& operator=(const ApiServer&) = delete;

  /// Closes every connection at once; what is left of sessions ends on the loop without `source`.
  ~ApiServer();

  /// Binds `address` and begins to serve: each client there has shown `proof`. A Unix socket gets
  /// mode 0600, and replaces one that a dead program left. Once for each address. Returns the
  /// address in force, with the real port.
  [[nodiscard]] Result<net::Address, Problem> listen(const net::Address& address, Proof proof);

  /// No more connections; answers that have begun are finished, streams end.
  void stop();

  [[nodiscard]] std::size_t connections() const;

 private:
  struct State;
  struct Session;

  std::shared_ptr<State> state_;
};

}  // namespace sluice::api
