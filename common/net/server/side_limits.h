#pragma once

#include "common/net/server/proxy_server.h"

namespace sluice::net {

/// Of a door for probes, metrics and tools.
[[nodiscard]] inline ServerLimits side_limits() {
  ServerLimits limits;
  limits.head_bytes_max = 16 * 1024;
  limits.connections_max = 256;
  limits.head_timeout = std::chrono::seconds{5};
  return limits;
}

}  // namespace sluice::net
