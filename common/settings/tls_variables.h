#pragma once

#include "common/net/tls/tls_settings.h"
#include "common/settings/reader.h"

#include <string>

namespace sluice::settings {

/// Reads what a TLS listener offers from {MIN_VERSION,MAX_VERSION,CIPHER_SUITES,CURVE_PREFERENCES},
/// each after `prefix`, as in QUEUE_PROXY_TLS_ (queue-proxy.md 3) or ACTIVATOR_TLS_ (activator.md
/// 2). An empty value counts as not set, any other that is not understood is a complaint.
[[nodiscard]] net::TlsSettings read_tls_settings(Reader& reader, const std::string& prefix);

}  // namespace sluice::settings
