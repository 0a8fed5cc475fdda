#pragma once

#include "common/net/tls_settings.h"
#include "queue-proxy/env_reader.h"

namespace sluice::queue_proxy {

/// Reads QUEUE_PROXY_TLS_{MIN_VERSION,MAX_VERSION,CIPHER_SUITES,CURVE_PREFERENCES} (queue-proxy.md
/// 3). An empty value counts as not set, any other that is not understood is a complaint.
[[nodiscard]] net::TlsSettings read_tls_settings(EnvReader& reader);

}  // namespace sluice::queue_proxy
