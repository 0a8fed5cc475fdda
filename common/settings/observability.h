#pragma once

#include "common/net/address.h"
#include "common/settings/knative_contract.h"
#include "common/settings/reader.h"

#include <optional>
#include <string>
#include <vector>

namespace sluice::settings {

/// What a program reports of its requests (queue-proxy.md 3, 12, 15.10, 15.18 and 15.19).
struct ObservabilityConfig {
  /// Whose variables these are: `older` where one of SERVING_REQUEST_METRICS_BACKEND,
  /// SERVING_ENABLE_REQUEST_LOG and TRACING_CONFIG_BACKEND is set, be it to nothing, and
  /// OBSERVABILITY_CONFIG is not.
  KnativeContract contract = KnativeContract::current;

  /// Where Prometheus metrics are served; absent: they are not.
  std::optional<net::Address> metrics;

  /// The template of the request log; empty: there is none.
  std::string request_log;

  /// Whether it has lines for probes too.
  bool probes_logged = false;

  /// `service.name` of the metrics: OTEL_SERVICE_NAME; empty when not set.
  std::string service_name;

  /// What is set and not supported; each is logged once at start.
  std::vector<std::string> warnings;
};

/// Reads OBSERVABILITY_CONFIG (JSON, at most 64 KiB) or, where an older Knative set the
/// environment, SERVING_ENABLE_REQUEST_LOG, SERVING_REQUEST_LOG_TEMPLATE (at most 16 KiB),
/// SERVING_ENABLE_PROBE_REQUEST_LOG, SERVING_REQUEST_METRICS_* and TRACING_CONFIG_BACKEND; and
/// SLUICE_METRICS_ADDRESS (empty: no metrics), METRICS_PROMETHEUS_* and OTEL_SERVICE_NAME. `usual`:
/// where metrics are served when nothing is said. Complaints go to `reader`.
[[nodiscard]] ObservabilityConfig read_observability(Reader& reader, const std::string& usual);

}  // namespace sluice::settings
