#pragma once

#include "autoscaler/config.h"
#include "autoscaler/core/activator_hub.h"
#include "autoscaler/io/activator_streams.h"
#include "autoscaler/io/api.h"
#include "autoscaler/io/decision_ring.h"
#include "autoscaler/io/directory_platform.h"
#include "autoscaler/io/fleet.h"
#include "autoscaler/io/fleet_metrics.h"
#include "autoscaler/io/health_page.h"
#include "autoscaler/io/node_streams.h"
#include "autoscaler/io/scale_loop.h"
#include "autoscaler/io/stat_socket.h"
#include "common/base/result.h"
#include "common/log/log.h"
#include "common/net/proxy_server.h"
#include "common/program/end_signals.h"
#include "common/rpc/server.h"
#include "common/time/clock.h"

#include <boost/asio/io_context.hpp>

#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

namespace sluice::autoscaler {

/// The autoscaler, put together on one thread: what the platform and the activators say comes in,
/// orders and states go out.
class App {
 public:
  explicit App(Config config);

  /// Reads the platform, binds every listener, says so on the ready descriptor, and works until it
  /// is told to end. Returns the exit code: 78 for a wrong platform, 1 for an address it cannot
  /// have.
  [[nodiscard]] int run();

 private:
  [[nodiscard]] std::optional<Problem> open_platform();
  [[nodiscard]] std::optional<Problem> open_doors();
  void on_call(std::unique_ptr<rpc::Call> call);
  void leave();
  void give_up();
  [[nodiscard]] std::vector<HealthCheck> checks() const;
  [[nodiscard]] FleetTotals totals() const;

  Config config_;
  Clock clock_;
  log::Logger log_;
  TimePoint started_;
  boost::asio::io_context io_{1};
  std::mt19937_64 random_;
  std::vector<std::string> buckets_;
  ScaleLoop loop_;
  ActivatorHub hub_;
  NodeBook nodes_;
  DecisionRing ring_;
  DirectoryScaleSink sink_;
  Surroundings surroundings_;
  Fleet fleet_;
  DirectoryPodWatch pods_;
  StatSocket stats_;
  ActivatorStreams streams_;
  NodeStreams node_streams_;
  std::optional<rpc::Server> grpc_;
  Api api_;
  HealthPage health_;
  net::ProxyServer api_server_;
  net::ProxyServer health_server_;
  program::EndSignals signals_;
  int exit_code_ = 0;
};

}  // namespace sluice::autoscaler
