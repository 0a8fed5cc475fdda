#pragma once

#include "common/http/message.h"

#include <cstdint>

namespace sluice::http {

/// What the sidecar does with a request that may be a health check (queue-proxy.md 4).
enum class ProbeKind : std::uint8_t {
  none,     ///< ordinary traffic
  health,   ///< D1: answered by the readiness of the user process
  network,  ///< D2: answered at once, the hash echoed
};

[[nodiscard]] ProbeKind classify_probe(const RequestHead& head);

/// P1: user agent of the kubelet, or a non-empty K-Kubelet-Probe.
[[nodiscard]] bool is_kubelet_probe(const RequestHead& head);

/// The fixed answer to a probe.
struct ProbeAnswer {
  int status = 200;
  std::string body;
  std::string hash;  ///< K-Network-Hash to echo; empty for none
};

/// Answer of the health check (D1) given what the prober said. `readiness` must be known only when
/// the probe header is `queue`; see health_needs_probe.
[[nodiscard]] ProbeAnswer health_answer(const RequestHead& head, bool draining, bool ready);

/// Whether the health check's answer depends on the user process.
[[nodiscard]] bool health_needs_probe(const RequestHead& head, bool draining);

/// Answer of the network probe (D2).
[[nodiscard]] ProbeAnswer network_answer(const RequestHead& head, bool draining);

}  // namespace sluice::http
