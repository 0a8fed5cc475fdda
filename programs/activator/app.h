#pragma once

#include "activator/io/autoscaler_call.h"
#include "activator/io/autoscaler_desk.h"
#include "activator/io/autoscaler_peer.h"
#include "activator/io/front_gateway.h"
#include "activator/io/pod_prober.h"
#include "activator/io/pod_tls.h"
#include "activator/io/revision_book.h"
#include "activator/io/status_server.h"
#include "activator/io/telemetry.h"
#include "activator/io/wake_watch.h"
#include "common/files/platform_directory.h"
#include "common/log/log.h"
#include "common/loop/asio_loop.h"
#include "common/metrics/families.h"
#include "common/net/server/proxy_server.h"
#include "common/net/tls/serving_tls.h"
#include "common/program/end_signals.h"
#include "common/time/clock.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include "platform/kubernetes/activator/core/service_target.h"
#include "platform/kubernetes/activator/io/cluster_platform.h"
#include "platform/kubernetes/activator/io/scaler_doors.h"
#include "programs/activator/config.h"
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace sluice::activator {

/// The activator, put together: the front gateway behind its listeners, the platform that reports
/// revisions and pods, the link to the autoscaler, and the shutdown.
class App final : private FrontOwner {
 public:
  explicit App(Config config);
  ~App() override;
  App(const App&) = delete;
  App& operator=(const App&) = delete;

  /// Binds every listener, writes to the ready descriptor, and serves until drained.
  /// Returns the exit code.
  [[nodiscard]] int run();

 private:
  [[nodiscard]] Result<int, Problem> open();
  [[nodiscard]] Result<int, Problem> open_cluster();
  [[nodiscard]] Result<int, Problem> serve();
  [[nodiscard]] Result<int, Problem> listen();
  [[nodiscard]] Result<int, Problem> open_link();
  [[nodiscard]] std::vector<std::string> replicas() const;
  [[nodiscard]] Result<int, Problem> tell_ready() const;
  void begin_serving();
  void reported(std::span<const RevisionStat> stats);
  void drain();
  void on_quiet_over();
  void check_drained();
  void settle_soon(int steps_left);
  void settle(int steps_left);
  void leave(int code);
  [[nodiscard]] PeerEvents peer_events();
  void apply(const proto::RevisionState& state);
  [[nodiscard]] std::size_t in_flight() const;
  [[nodiscard]] std::vector<Check> checks() const;
  void write_metrics(metrics::Families& families) const;

  void on_poke(RevisionHandle revision, const RevisionStat& stat) override;
  void on_held(RevisionHandle revision) override;

  void on_pod_drained(RevisionHandle /*revision*/, const PodId& /*pod*/) override {}

  void on_pod_refused(RevisionHandle revision, const PodId& pod, PodRefusal refusal) override;
  [[nodiscard]] std::string cold_start(RevisionHandle revision, const PodId& pod, TimePoint arrived,
                                       TimePoint dispatched) override;
  void on_served(RevisionHandle revision, const Served& served) override;

  Config config_;
  Clock clock_;
  log::Logger log_;
  boost::asio::io_context io_{1};
  AsioLoop time_{io_, clock_};
  PoolAsker asker_{io_};
  Telemetry telemetry_;
  WakeWatch wakes_;
  PodTls pod_tls_;
  net::ConnectionCount connections_;  // of clients, at every door
  FrontGateway front_;
  PodProber prober_;
  RevisionBook book_;
  AutoscalerDesk desk_{time_, front_, prober_, book_};
  ScalerDoors doors_;
  std::unique_ptr<files::PlatformDirectory> directory_;  // or
  std::unique_ptr<ClusterPlatform> cluster_;
  std::optional<ServiceTarget> autoscaler_;  // when its replicas are followed
  std::optional<AutoscalerCalls> calls_;
  std::unique_ptr<AutoscalerPeer> peer_;
  StatusServer status_;
  net::ServingTls serving_tls_;
  net::ProxyServer serving_;
  net::ProxyServer metrics_;
  std::vector<std::pair<std::string, net::Address>> addresses_;
  program::EndSignals signals_;
  boost::asio::steady_timer drain_timer_;
  bool serving_begun_ = false;
  bool reached_ = false;  // by or of an autoscaler, once
  bool quiet_over_ = false;
  int exit_code_ = 0;
};

}  // namespace sluice::activator
