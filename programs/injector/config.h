#pragma once

#include "common/base/result.h"
#include "common/log/log.h"
#include "common/net/address.h"
#include "common/settings/observability.h"
#include "common/settings/reader.h"

#include "injector/patch/pod_patch.h"
#include <cstdint>
#include <string>
#include <vector>

namespace sluice::injector {

enum class Native : std::uint8_t { by_version, always, never };

/// Settings of the injector.
struct Config {
  net::Address webhook;                ///< SLUICE_WEBHOOK_ADDRESS, :8443
  std::string system_space;            ///< SYSTEM_NAMESPACE
  std::vector<std::string> names;      ///< of its Service, by SYSTEM_NAMESPACE and CLUSTER_DOMAIN
  std::string certs_dir;               ///< SLUICE_CERTS_DIR; empty: it makes its certificate itself
  Native native = Native::by_version;  ///< SLUICE_SIDECAR_NATIVE: auto, true, false
  InjectionSettings injection;  ///< SLUICE_SIDECAR_IMAGE, ..._PULL_POLICY, ..._CPU_REQUEST ...
  Duration drain_quiet = std::chrono::seconds{5};  ///< SLUICE_DRAIN_QUIET
  settings::ObservabilityConfig observability;     ///< SLUICE_METRICS_ADDRESS, :9090
  log::Severity log_least = log::Severity::info;   ///< SLUICE_LOG_LEVEL
  int ready_fd = -1;                               ///< SLUICE_READY_FD
};

/// Reads the settings. The first wrong or missing one is named with what it should be.
[[nodiscard]] Result<Config, Problem> read_config(const settings::Environment& environment);

}  // namespace sluice::injector
