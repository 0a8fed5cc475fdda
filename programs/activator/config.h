#pragma once

#include "activator/core/destinations.h"
#include "activator/core/queue_budget.h"
#include "common/base/result.h"
#include "common/log/log.h"
#include "common/net/address.h"
#include "common/net/server/proxy_server.h"
#include "common/net/tls/tls_settings.h"
#include "common/settings/observability.h"
#include "common/settings/reader.h"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::activator {

/// Settings of the activator (activator.md 2 and 14, protocols.md 1, 6 and 9).
struct Config {
  std::string pod;             ///< POD_NAME: the name in reports
  std::string pod_ip;          ///< POD_IP: finds itself among the activators by it
  std::string system_space;    ///< SYSTEM_NAMESPACE
  std::string cluster_domain;  ///< CLUSTER_DOMAIN, else of resolv.conf, else cluster.local
  std::string platform_path;   ///< PATH of SLUICE_PLATFORM=dir:PATH; empty: kubernetes

  net::Address http;                  ///< SLUICE_HTTP_ADDRESS, :8012
  net::Address h2c;                   ///< SLUICE_H2C_ADDRESS, :8013
  std::optional<net::Address> tls;    ///< SLUICE_TLS_ADDRESS, :8112; empty: none
  std::string certs_dir;              ///< SLUICE_CERTS_DIR: tls.crt, tls.key, ca.crt
  net::TlsSettings tls_settings;      ///< ACTIVATOR_TLS_*
  bool pods_over_tls = false;         ///< SLUICE_POD_TLS
  std::uint16_t pod_tls_port = 8112;  ///< SLUICE_POD_TLS_PORT

  /// SLUICE_AUTOSCALER_ADDRESS: one per replica, with commas; empty: Knative's WebSocket.
  std::vector<std::string> autoscalers;
  std::string knative_autoscaler;  ///< host:port of its door for stats: SLUICE_STATS_TARGET, or by
                                   ///< SYSTEM_NAMESPACE and cluster domain (activator.md 8.3)
  std::string rpc_tls_dir;         ///< SLUICE_TLS_DIR; empty: gRPC in clear text

  std::int32_t queue_depth = 10'000;           ///< SLUICE_QUEUE_DEPTH, per revision
  QueueBudgetSpec queues;                      ///< SLUICE_QUEUE_TOTAL, SLUICE_QUEUE_BYTES
  Duration queue_wait{0};                      ///< SLUICE_QUEUE_WAIT; 0 = off
  std::size_t idle_connections = 1000;         ///< MAX_IDLE_PROXY_CONNS
  std::size_t idle_connections_per_pod = 100;  ///< MAX_IDLE_PROXY_CONNS_PER_HOST
  Duration probe_timeout = std::chrono::milliseconds{300};    ///< PROBE_TIMEOUT
  Duration probe_frequency = std::chrono::milliseconds{200};  ///< PROBE_FREQUENCY
  MeshMode mesh = MeshMode::automatic;                        ///< SLUICE_MESH_COMPATIBILITY_MODE
  bool pod_addressability = false;                            ///< SLUICE_MESH_POD_ADDRESSABILITY
  Duration drain_quiet = std::chrono::seconds{45};            ///< SLUICE_DRAIN_QUIET
  /// SLUICE_KNATIVE_CONTRACT, of a release; absent: that of the installed Knative.
  std::optional<settings::KnativeContract> contract;
  bool cold_start_header = false;  ///< SLUICE_COLD_START_HEADER
  net::ServerLimits limits;
  settings::ObservabilityConfig observability;
  log::Severity log_least = log::Severity::info;  ///< SLUICE_LOG_LEVEL
  int ready_fd = -1;                              ///< SLUICE_READY_FD
};

/// Reads the settings. The first wrong or missing one is named with what it should be.
/// `resolv_conf`: the text of /etc/resolv.conf, empty when there is none.
[[nodiscard]] Result<Config, Problem> read_config(const settings::Environment& environment,
                                                  std::string_view resolv_conf);

/// The cluster domain that the search list of a resolv.conf names by `svc.<domain>`; empty when it
/// names none (activator.md 2).
[[nodiscard]] std::string cluster_domain_of(std::string_view resolv_conf);

}  // namespace sluice::activator
