#pragma once

#include "common/base/result.h"
#include "common/time/clock.h"

#include <boost/asio/io_context.hpp>

#include "programs/sluice/engine/door_access.h"
#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>

namespace sluice::local {

class EngineApi;

/// Bounds of the API server.
struct ApiServerLimits {
  std::uint32_t header_bytes_max = 16U << 10U;
  std::uint64_t body_bytes_max = 4U << 20U;        ///< over the socket; a larger one gets 413
  std::uint64_t door_body_bytes_max = 64U << 10U;  ///< likewise, of requests of the front door
  std::size_t connections_max = 64;                ///< of one proof; more get 503 and are closed
  Duration idle = std::chrono::seconds{60};        ///< between requests, and for one write
  Duration heartbeat = std::chrono::seconds{15};   ///< comment on an event stream without events
};

/// The HTTP+JSON API of one engine on its Unix sockets (protocols.md 5). Runs on the given loop's
/// one thread and serves any Host: the front door forwards `/_sluice/` here with its prefix cut
/// off, to the socket that stands for what its client has shown.
class ApiServer {
 public:
  using Limits = ApiServerLimits;

  /// `api` and `clock` outlive the server.
  ApiServer(boost::asio::io_context& loop, EngineApi& api, const Clock& clock, Limits limits = {});
  ApiServer(const ApiServer&) = delete;
  ApiServer& operator=(const ApiServer&) = delete;

  /// Closes every connection at once; what is left of sessions ends on the loop without `api`.
  ~ApiServer();

  /// Binds `socket_path` (replacing what a dead engine left there; hold the engine's lock) with
  /// mode 0600 and begins to serve: each client there has shown `proof`. Once for each socket.
  /// Nothing on success.
  [[nodiscard]] std::optional<Problem> listen(const std::filesystem::path& socket_path,
                                              Proof proof);

  /// No more connections; answers that have begun are finished, streams end.
  void stop();

  [[nodiscard]] std::size_t connections() const;

 private:
  struct Entrance;
  struct State;
  struct Session;

  std::shared_ptr<State> state_;
};

}  // namespace sluice::local
