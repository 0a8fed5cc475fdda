#pragma once

#include "common/base/result.h"
#include "common/log/log.h"
#include "common/net/address.h"
#include "common/settings/reader.h"

#include <optional>
#include <string>

namespace sluice::autoscaler {

/// Settings of the autoscaler (protocols.md 1, 6 and 9). Beside a directory of files, doors without
/// a proof of the caller are on loopback unless an address is set. How it scales is no setting of
/// the program: that is the cluster's configuration, which the platform brings.
struct Config {
  std::string name;            ///< POD_NAME, unique among replicas; "autoscaler" when not set
  std::string platform;        ///< SLUICE_PLATFORM as given
  std::string platform_path;   ///< PATH of dir:PATH; empty: Kubernetes
  std::string pod_address;     ///< POD_IP; on Kubernetes
  std::string system_space;    ///< SYSTEM_NAMESPACE; on Kubernetes
  std::string cluster_domain;  ///< CLUSTER_DOMAIN, cluster.local
  bool shadow = false;         ///< SLUICE_SHADOW; on Kubernetes: watch Knative and write nothing
  std::string stats_relay;     ///< SLUICE_STATS_RELAY, host:port of Knative's autoscaler; or empty
  /// SLUICE_STATS_ADDRESS: WebSocket. Empty: none, which is the default on Kubernetes without
  /// Knative.
  std::optional<net::Address> stats;
  net::Address grpc;  ///< SLUICE_GRPC_ADDRESS, port 8081: streams of our activators, health
  /// SLUICE_ENROLL_ADDRESS, port 8083: where node agents get certificates; with tls_secret only.
  std::optional<net::Address> enroll;
  net::Address api;            ///< SLUICE_API_ADDRESS, port 8082
  std::string api_token_file;  ///< SLUICE_API_TOKEN_FILE: what opens changes there; empty: nothing
  net::Address metrics;        ///< SLUICE_METRICS_ADDRESS, port 9090: health and metrics
  std::string tls_dir;         ///< SLUICE_TLS_DIR; empty: gRPC in clear text
  std::string tls_secret;      ///< SLUICE_TLS_SECRET: kept and written to tls_dir; on Kubernetes
  log::Severity log_least = log::Severity::info;  ///< SLUICE_LOG_LEVEL
  int ready_fd = -1;                              ///< SLUICE_READY_FD
};

/// Reads the settings. The first wrong or missing one is named with what it should be.
[[nodiscard]] Result<Config, Problem> read_config(const settings::Environment& environment);

}  // namespace sluice::autoscaler
