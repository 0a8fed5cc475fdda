#pragma once

#include <string_view>

namespace sluice {

/// What can go wrong in a way the caller expects. Context (which pod, which file) is added by
/// the code that logs or answers it, once.
enum class Error {
  queue_full,         ///< a breaker's queue has no room
  queue_wait,         ///< a waiter grew older than its limit
  deadline_exceeded,  ///< an absolute deadline passed
  cannot_scale,       ///< growth is impossible now
  start_failed,       ///< replicas fail to start
  draining,           ///< the program is going away
  not_ready,          ///< readiness was not reached
  no_route,           ///< no revision answers to that host
  bad_request,        ///< the peer's bytes are not a request we accept
  too_large,          ///< a limit on size was passed
  upstream_connect,   ///< no connection to the upstream; nothing was sent
  upstream_reset,     ///< the upstream went away before answering
  upstream_invalid,   ///< the upstream's bytes are not a response
  client_gone,        ///< the client left
  io_failed,          ///< a file or socket failed
  invalid_config,     ///< a setting is wrong
};

/// A short description of `error`, for logs.
[[nodiscard]] std::string_view describe(Error error);

}  // namespace sluice
