#pragma once

#include "common/base/result.h"
#include "common/net/address.h"
#include "common/time/time_point.h"
#include "queue-proxy/core/readiness.h"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace sluice::queue_proxy {

/// Settings of the sidecar (queue-proxy.md 3 and 15).
struct Config {
  int container_concurrency = 0;  ///< below 1: no limit
  int queue_depth = 0;            ///< waiters; 10 * container_concurrency unless set
  Duration queue_wait{0};         ///< most age of a waiter; 0 = off
  Duration drain_quiet = std::chrono::seconds{30};
  net::Address serving;
  net::Address user;
  net::Address admin;
  net::Address stats;
  Duration timeout{};                      ///< 0 fires at once
  std::optional<Duration> response_start;  ///< absent = off
  std::optional<Duration> idle;            ///< absent = off
  std::vector<ProbeSpec> probes;           ///< all must pass; none: always ready
  bool always_ready = false;               ///< the probe setting was empty
  std::string space;
  std::string service;
  std::string configuration;
  std::string revision;
  std::string pod;
  std::string pod_ip;
  std::string node_address;  ///< may bypass the breaker by K-Kubelet-Probe, as loopback may
  std::size_t head_bytes_max = 1 << 20;
  std::size_t connections_max = 16'384;
  int ready_fd = -1;
};

/// A variable's value, or nothing when it is not set.
using Environment = std::function<std::optional<std::string>(const char*)>;

/// Reads the settings. The first wrong or missing one is named with what it should be.
[[nodiscard]] Result<Config, Problem> read_config(const Environment& environment);

}  // namespace sluice::queue_proxy
