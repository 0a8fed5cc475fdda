#pragma once

#include "common/base/result.h"
#include "common/log/log.h"
#include "common/loop/asio_loop.h"
#include "common/net/server/metrics_server.h"
#include "common/net/server/proxy_server.h"
#include "common/net/tls/serving_tls.h"
#include "common/program/end_signals.h"
#include "queue-proxy/core/drain.h"
#include "queue-proxy/io/config.h"
#include "queue-proxy/io/proxy_gateway.h"
#include "queue-proxy/io/side_servers.h"
#include "queue-proxy/io/telemetry.h"
#include "queue-proxy/io/user_probe.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

namespace sluice::queue_proxy {

/// The sidecar, put together: three servers on one thread, the statistics' ticker, and the way out.
class App {
 public:
  explicit App(Config config);

  /// Binds every listener, writes to the ready descriptor, and serves until drained.
  /// Returns the exit code.
  [[nodiscard]] int run();

 private:
  [[nodiscard]] Result<int, Problem> open();
  void tick();
  void on_drain_call(DrainCall call);
  void drain(bool final);
  void close_idle_when_told();
  void check_drain();
  void answer_waits();
  void leave(int code);

  Config config_;
  Clock clock_;
  log::Logger log_;
  boost::asio::io_context io_{1};
  AsioLoop loop_{io_, clock_};
  Drain drain_;
  UserProbe probe_;
  Telemetry telemetry_;
  ProxyGateway gateway_;
  StatServer stat_server_;
  metrics::MetricsServer metrics_server_;
  AdminServer admin_server_;
  net::ServingTls serving_tls_;
  net::ProxyServer serving_;
  net::ProxyServer admin_;
  net::ProxyServer stats_;
  net::ProxyServer metrics_;
  program::EndSignals signals_;
  boost::asio::signal_set idle_signal_;
  boost::asio::steady_timer ticker_;
  boost::asio::steady_timer drain_timer_;
  boost::asio::steady_timer wait_timer_;
  TimePoint started_;
  TimePoint next_tick_;
  int exit_code_ = 0;
};

/// `queue-proxy --drain`: drains the running sidecar and waits. Returns the exit code.
/// Needs no variable but SLUICE_ADMIN_ADDRESS.
[[nodiscard]] int ask_to_drain(const Environment& environment);

}  // namespace sluice::queue_proxy
