#pragma once

#include "common/base/result.h"
#include "queue-proxy/core/readiness.h"

#include <string>
#include <vector>

namespace sluice::queue_proxy {

/// How SERVING_READINESS_PROBE is to be read.
struct ProbeReading {
  bool several = false;  ///< ENABLE_MULTI_CONTAINER_PROBES: an array of probes, else one object
  bool detect_http2 = false;  ///< ENABLE_HTTP2_AUTO_DETECTION: cleartext HTTP probes try h2c first
};

/// Reads the JSON of a Kubernetes Probe, or of an array of them (queue-proxy.md 10 and 15.18).
/// Fields that are not listed there are ignored, as are header fields that frame a message.
/// Anything that could never become ready because it is malformed is a Problem; exec and absent
/// actions are probes that never pass.
[[nodiscard]] Result<std::vector<ProbeSpec>, Problem> read_probes(const std::string& text,
                                                                  ProbeReading how);

}  // namespace sluice::queue_proxy
