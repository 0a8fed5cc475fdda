#pragma once

#include "common/http/message.h"
#include "common/time/time_point.h"

#include <cstdint>
#include <optional>
#include <string_view>

namespace sluice::queue_proxy {

/// Why a request ended as it did: the label `cause` of sluice_responses_total.
enum class Cause : std::uint8_t {
  none,               ///< the container answered
  container_aborted,  ///< the container went away in the middle of its answer
  client_gone,
  queue_full,
  queue_wait,
  timeout_max,
  timeout_response_start,
  timeout_idle,
  timeout_header,  ///< the client took too long to send its head
  timeout_body,    ///< and this one to send its body
  draining,
  not_ready,
  bad_request,
  too_large,
  upstream_connect,
  upstream_reset,
  upstream_invalid,
  other,
};

inline constexpr std::size_t kCauses = static_cast<std::size_t>(Cause::other) + 1;

/// As in the label, empty for `none`. The text up to a '-' that names a detail is the cause in
/// Sluice-Error, where the detail follows as a fact.
[[nodiscard]] std::string_view name_of(Cause cause);

/// Who made the answer, or ended the request: `container`, `queue-proxy` or `client`.
[[nodiscard]] std::string_view source_of(Cause cause);

/// The status under which a request is counted and logged: the status sent to the client, except
/// that a client that left is 499, never a 5xx, an answer broken off by the container 500 (row 69),
/// and one cut by a timer of ours 504.
[[nodiscard]] int recorded_status(int told, Cause cause);

/// One request that has ended, as its metrics and its log line see it. Borrowed views; lives for
/// the length of a call.
struct RequestRecord {
  const http::RequestHead& head;
  std::string_view peer_ip{};        ///< empty for a Unix socket
  std::string_view route{};          ///< see route_tag
  bool secure = false;               ///< came over TLS
  bool bounded = false;              ///< passed, or was refused by, a breaker
  Cause cause = Cause::none;         ///< why it ended so
  int status = 0;                    ///< see recorded_status
  Duration latency{};                ///< since its head had been read
  Duration queued{};                 ///< of that, waiting for a slot
  std::optional<Duration> app{};     ///< since it was forwarded; nothing when it never was
  std::uint64_t request_bytes = 0;   ///< content of its body that went to the container
  std::uint64_t response_bytes = 0;  ///< content of the answer's body that went to the client
};

}  // namespace sluice::queue_proxy
