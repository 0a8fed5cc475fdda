#pragma once

#include "common/kube/client.h"
#include "common/log/log.h"
#include "common/metrics/families.h"
#include "common/net/server/proxy_server.h"
#include "common/net/tls/certificate_watch.h"
#include "common/program/end_signals.h"
#include "common/time/clock.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include "injector/io/certificate_keeper.h"
#include "injector/io/cluster_version.h"
#include "injector/io/health_page.h"
#include "injector/io/scaler_watch.h"
#include "injector/io/webhook_door.h"
#include "injector/patch/admission.h"
#include "programs/injector/config.h"
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sluice::injector {

/// The injector, put together: the door for API servers, the watch of RequestScalers, and
/// its certificates.
class App {
 public:
  explicit App(Config config);

  /// Binds every listener, writes to the ready descriptor, and serves until a signal. Returns
  /// the exit code.
  [[nodiscard]] int run();

 private:
  [[nodiscard]] Result<int, Problem> open();
  [[nodiscard]] Result<int, Problem> listen();
  [[nodiscard]] std::optional<WebhookDoor::Answer> respond(std::string_view path,
                                                           const std::string& body);
  [[nodiscard]] AdmissionAnswer mutate(const std::string& body) const;
  void serve_with(const net::TlsPair& pair);
  void look_at_files();
  void drain();
  void leave_soon(int steps_left);
  void leave(int code);
  [[nodiscard]] std::string unready() const;
  void write_metrics(metrics::Families& families) const;

  Config config_;
  boost::asio::io_context io_{1};
  Clock clock_;
  log::Logger log_;
  std::mt19937_64 random_;
  std::unique_ptr<kube::Client> client_;
  std::unique_ptr<ScalerWatch> scalers_;
  std::unique_ptr<ClusterVersion> version_;
  std::unique_ptr<CertificateKeeper> keeper_;   // without SLUICE_CERTS_DIR
  std::optional<net::CertificateWatch> files_;  // with it
  WebhookDoor door_;
  HealthPage page_;
  net::ProxyServer metrics_;
  program::EndSignals signals_;
  boost::asio::steady_timer timer_;  // of the drain
  boost::asio::steady_timer file_timer_;
  std::vector<std::pair<std::string, net::Address>> addresses_;
  std::array<std::uint64_t, 5> answers_{};  // by AdmissionAnswer::Result
  int exit_code_ = 0;
};

}  // namespace sluice::injector
