#pragma once

#include "autoscaler/core/activators/activator_hub.h"
#include "autoscaler/io/activator_call.h"
#include "autoscaler/io/activator_streams.h"
#include "autoscaler/io/api.h"
#include "autoscaler/io/api_routes.h"
#include "autoscaler/io/fleet.h"
#include "autoscaler/io/fleet_events.h"
#include "autoscaler/io/fleet_view.h"
#include "autoscaler/io/health_page.h"
#include "autoscaler/io/http_stat_source.h"
#include "autoscaler/io/joined_api.h"
#include "autoscaler/io/node_streams.h"
#include "autoscaler/io/peers.h"
#include "autoscaler/io/platform.h"
#include "autoscaler/io/refusals.h"
#include "autoscaler/io/ring_history.h"
#include "autoscaler/io/scale_loop.h"
#include "autoscaler/io/stat_socket.h"
#include "autoscaler/io/view_api.h"
#include "common/api/api_server.h"
#include "common/api/event_ring.h"
#include "common/base/result.h"
#include "common/log/log.h"
#include "common/loop/asio_loop.h"
#include "common/metrics/families.h"
#include "common/net/server/proxy_server.h"
#include "common/net/server/ready_line.h"
#include "common/program/end_signals.h"
#include "common/rpc/server.h"
#include "common/time/clock.h"

#include <boost/asio/io_context.hpp>

#include "platform/knative/io/stat_relay.h"
#include "platform/kubernetes/io/bucket_share.h"
#include "platform/kubernetes/io/cluster_platforms.h"
#include "platform/kubernetes/io/enrolment.h"
#include "platform/kubernetes/io/plain_activators.h"
#include "platform/kubernetes/io/stream_certificates.h"
#include "programs/autoscaler/config.h"
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace sluice::autoscaler {

/// The autoscaler, put together on one thread: reports of the platform and the activators come in,
/// orders and states go out.
class App {
 public:
  explicit App(Config config);
  ~App();
  App(const App&) = delete;
  App& operator=(const App&) = delete;

  /// Reads the platform, binds every listener, writes to the ready descriptor once the platform
  /// has reported what exists, and runs until it gets a signal. Returns the exit code: 78 for an
  /// invalid platform, 1 for an address it cannot bind.
  [[nodiscard]] int run();

 private:
  [[nodiscard]] std::unique_ptr<Platform> make_platform();
  [[nodiscard]] ApiFacts facts() const;
  [[nodiscard]] std::optional<Problem> open_platform();
  void keep_certificates();
  [[nodiscard]] std::optional<Problem> open_doors();
  [[nodiscard]] std::optional<Problem> open_grpc();
  void certificates_ready();
  void write_certificate_metrics(metrics::Families& families) const;
  void tell_ready();
  void on_call(std::unique_ptr<rpc::Call> call);
  void on_stats(std::span<const proto::StatMessage> all);
  [[nodiscard]] std::string holder_of(const RevisionId& revision) const;
  [[nodiscard]] std::optional<PeerList> other_replicas() const;
  void settled(const std::optional<Problem>& problem);
  void fail(const Problem& problem, int code);
  void leave();
  void close_doors();
  void give_up();
  [[nodiscard]] std::vector<HealthCheck> checks() const;
  void write_metrics(metrics::Families& families) const;
  void write_totals(metrics::Families& families) const;

  Config config_;
  Clock clock_;
  log::Logger log_;
  TimePoint started_;
  boost::asio::io_context io_{1};
  AsioLoop time_{io_, clock_};
  HttpStatSource pod_stats_{io_};
  std::mt19937_64 random_;
  std::vector<std::string> buckets_;
  ScaleLoop loop_;
  ActivatorHub hub_;
  NodeBook nodes_;
  placement::Placement placement_{nodes_.gates()};
  api::EventRing events_;
  RingHistory history_;
  FleetEvents fleet_events_;
  ClusterPlatforms* cluster_ = nullptr;  // platform_, if that is what it is
  std::unique_ptr<Platform> platform_;
  Recordings recordings_;
  Surroundings surroundings_;
  Fleet fleet_;
  FleetView view_;
  StatSocket stats_;
  Refusals refusals_;
  ActivatorStreams streams_;
  NodeStreams node_streams_;
  std::optional<BucketShare> share_;                // of a cluster, unless as a shadow
  std::optional<StatRelay> relay_;                  // beside Knative's autoscaler
  std::optional<PlainActivators> plain_;            // of a cluster, with TLS
  std::optional<StreamCertificates> certificates_;  // with SLUICE_TLS_SECRET
  std::optional<Enrolment> enrolment_;              // likewise
  std::optional<rpc::Server> grpc_;
  HttpPeers peers_;
  Api api_;
  ViewApi view_api_;
  ApiRoutes routes_;
  JoinedApi joined_api_;
  HealthPage health_;
  api::ApiServer api_server_;
  net::ProxyServer health_server_;
  program::EndSignals signals_;
  std::vector<std::pair<std::string, net::Address>> doors_;  // that are bound
  std::uint16_t api_port_ = 0;                               // the same of every replica
  bool settled_ = false;
  bool bound_ = false;  // every door
  int exit_code_ = 0;
};

}  // namespace sluice::autoscaler
