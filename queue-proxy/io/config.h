#pragma once

#include "common/base/result.h"
#include "common/log/log.h"
#include "common/net/address.h"
#include "common/net/tls/tls_settings.h"
#include "common/settings/observability.h"
#include "common/settings/reader.h"
#include "common/time/time_point.h"
#include "queue-proxy/core/original_host.h"
#include "queue-proxy/core/readiness.h"

#include <optional>
#include <string>
#include <vector>

namespace sluice::queue_proxy {

using settings::Environment;
using settings::Reader;

/// What a peer may send at most; each has a variable of its own (queue-proxy.md 15.7).
struct InputLimits {
  /// SLUICE_MAX_HEADER_BYTES, 1 KiB to 16 MiB: one header block. 431 above.
  std::size_t head_bytes_max = 1 << 20;

  /// SLUICE_MAX_HEADERS, 16 to 65535: fields of one message, trailers included. 431 above. The
  /// reference bounds bytes only; this is far above what any client sends and keeps a header block
  /// of many tiny fields from costing more memory than its bytes.
  std::size_t fields_max = 1000;

  /// SLUICE_HEADER_MEMORY, SLUICE_MAX_HEADER_BYTES to 1 PiB: header blocks that are being read, of
  /// all connections, beyond the first 4 KiB of each. The oldest is dropped: 503.
  std::size_t header_memory = 64 << 20;

  /// SLUICE_MAX_CONNECTIONS, 1 to 1000000: beyond it accepting pauses. Three quarters of the files
  /// that the process may open, if that is less.
  std::size_t connections_max = 16'384;

  /// SLUICE_MAX_STREAMS, 1 to 10000: HTTP/2 streams open at once on one connection.
  std::size_t streams_max = 250;

  /// SLUICE_MAX_CONTROL_FRAMES, 100 to 1000000: HTTP/2 frames that carry nothing (pings, settings,
  /// resets, empty data) of one connection in ten seconds. GOAWAY with ENHANCE_YOUR_CALM above.
  std::size_t control_frames_max = 1000;

  /// SLUICE_UPGRADE_BODY_MAX, up to 16 MiB: body of an `Upgrade: h2c` request. 413 above.
  std::size_t upgrade_body_max = 64 * 1024;

  /// SLUICE_HEADER_TIMEOUT, 10 ms to 1 h: from a request's first byte to the end of its header
  /// block, and from accepting a connection to its first byte, the TLS handshake included.
  Duration header_timeout = std::chrono::seconds{60};

  /// SLUICE_BODY_TIMEOUT, up to 24 h: the longest time in which no byte of a request body comes
  /// although the sidecar could take one. 0 = off, the default: a client stream (gRPC, an upload
  /// fed by a camera) may rightly be silent for minutes, and the revision's own timeout bounds
  /// every request already.
  Duration body_timeout{0};

  /// SLUICE_WRITE_TIMEOUT, up to 24 h: the longest time in which the client takes none of a
  /// response that waits for it, a closed window of HTTP/2 included. The request ends then. 0 =
  /// off.
  Duration write_timeout = std::chrono::seconds{60};
};

/// Settings of the sidecar (queue-proxy.md 3 and 15).
struct Config {
  int container_concurrency = 0;  ///< below 1: no limit
  int queue_depth = 0;            ///< waiters, at least 1; 10 * container_concurrency unless set
  Duration queue_wait{0};         ///< most age of a waiter; 0 = off
  Duration drain_quiet = std::chrono::seconds{30};
  net::Address serving;
  std::optional<net::Address> serving_tls;  ///< absent: no TLS listener
  net::Address user;
  net::Address admin;
  net::Address stats;
  Duration timeout{};                      ///< 0 fires at once
  std::optional<Duration> response_start;  ///< absent = off
  std::optional<Duration> idle;            ///< absent = off
  std::vector<ProbeSpec> probes;           ///< all must pass; none: always ready
  bool always_ready = false;               ///< there is nothing to probe
  std::string space;
  std::string service;
  std::string configuration;
  std::string revision;
  std::string pod;
  std::string pod_ip;
  /// SLUICE_NODE_ADDRESS, as the kernel writes peers: what comes from there is the node's own, and
  /// may bypass the breaker by K-Kubelet-Probe as loopback may.
  std::vector<std::string> node_addresses;
  /// The node's and the pod's own: addresses that may start a drain by /wait-for-drain, beside
  /// loopback.
  std::vector<std::string> drain_callers;
  OriginalHostFrom original_host = OriginalHostFrom::ingress;  ///< SLUICE_ORIGINAL_HOST
  std::string certs_dir;  ///< holds tls.crt and tls.key when there is TLS
  net::TlsSettings tls;
  std::string ignore_paths;        ///< SLUICE_IGNORE_PATHS, one a line: see ignore::Rules
  std::string ignore_user_agents;  ///< SLUICE_IGNORE_USER_AGENTS, likewise
  log::Severity log_least = log::Severity::info;
  settings::ObservabilityConfig observability;
  InputLimits limits;
  int ready_fd = -1;
};

/// Reads SLUICE_ADMIN_ADDRESS alone: all that asking a running sidecar to drain needs.
[[nodiscard]] Result<net::Address, Problem> read_admin(const Environment& environment);

/// Reads the settings. The first wrong or missing one is named with what it should be.
[[nodiscard]] Result<Config, Problem> read_config(const Environment& environment);

}  // namespace sluice::queue_proxy
