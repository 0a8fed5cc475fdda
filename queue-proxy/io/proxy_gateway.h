#pragma once

#include "common/breaker/breaker.h"
#include "common/http/probe.h"
#include "common/ignore/rules.h"
#include "common/load/request_stats.h"
#include "common/net/server/exchange.h"
#include "common/net/upstream/upstream_pool.h"
#include "common/time/clock.h"
#include "queue-proxy/core/drain.h"
#include "queue-proxy/io/config.h"
#include "queue-proxy/io/telemetry.h"
#include "queue-proxy/io/user_probe.h"

#include <boost/asio/steady_timer.hpp>

#include <optional>
#include <vector>

namespace sluice::queue_proxy {

/// What the sidecar does with each request on its serving port: answers probes, counts, admits
/// through the breaker, sends to the user process.
class ProxyGateway final : public net::Gateway {
 public:
  /// All references are App's members declared before this one.
  ProxyGateway(boost::asio::io_context& io, const Clock& clock, const Config& config,
               UserProbe& probe, Drain& drain, Telemetry& telemetry);

  [[nodiscard]] std::unique_ptr<net::ExchangeState> make_state() override;
  void begin(net::Exchange& exchange) override;
  bool upstream_failed(net::Exchange& exchange, const net::ConnectFailure& failure) override;
  net::ResponseVerdict response(net::Exchange& exchange, const http::ResponseHead& head,
                                std::string& extra) override;
  void end(net::Exchange& exchange, const net::Outcome& outcome) override;
  void refused(net::Exchange& exchange, const net::Outcome& outcome) override;
  void explain(net::Exchange& exchange, http::OwnResponse& response) override;

  [[nodiscard]] std::string_view timeout_text() const override { return "request timeout"; }

  [[nodiscard]] std::string_view place() const override { return "queue-proxy"; }

  /// Closes the present interval of the statistics.
  [[nodiscard]] load::LoadReport report() { return stats_.report(clock_.now()); }

  /// Which requests are counted in no statistic.
  [[nodiscard]] const ignore::Rules& ignored() const { return ignored_; }

  /// Requests that are no probes, waiting ones included.
  [[nodiscard]] std::size_t active() const { return active_; }

  /// A final drain may be over when the last of them has ended.
  void on_idle(std::function<void()> idle) { idle_ = std::move(idle); }

  /// How full the breaker is; nothing without one.
  [[nodiscard]] std::optional<QueueLoad> queue_load() const;

  void close() { pool_.close(); }

  /// Closes the idle connections to the app.
  void close_idle() { pool_.close_idle(); }

 private:
  struct State;

  static State& state_of(net::Exchange& exchange);
  [[nodiscard]] http::OwnResponse probe_response(const http::ProbeAnswer& answer) const;
  void answer_health(net::Exchange& exchange);
  void health_known(bool ready);
  void admit(net::Exchange& exchange);
  void send(net::Exchange& exchange);
  void leave_breaker(TimePoint now);
  void record(net::Exchange& exchange, const State& state, const net::Outcome& outcome,
              TimePoint now);
  void expire_waiters();
  void arm_expiry();
  [[nodiscard]] bool may_bypass(const net::Exchange& exchange) const;

  const Clock& clock_;
  const Config& config_;
  OriginalHostRule original_host_;
  ignore::Rules ignored_;
  UserProbe& probe_;
  Drain& drain_;
  Telemetry& telemetry_;
  net::UpstreamPool pool_;
  load::RequestStats stats_;
  std::optional<breaker::Breaker> breaker_;
  std::vector<net::Exchange*> waiters_;  // by ticket index; each leaves in end()
  std::vector<net::Exchange*> probing_;  // likewise
  boost::asio::steady_timer expiry_timer_;
  bool expiry_armed_ = false;
  std::size_t active_ = 0;
  std::function<void()> idle_;
};

}  // namespace sluice::queue_proxy
