#include "programs/queue-proxy/app.h"

#include "common/metrics/exposition.h"
#include "common/net/fetch.h"
#include "common/net/server/open_files.h"
#include "common/net/server/page_return.h"
#include "common/net/server/ready_line.h"
#include "common/net/server/side_limits.h"

#include <algorithm>
#include <csignal>
#include <cstdio>

namespace sluice::queue_proxy {
namespace {

constexpr Duration kReportPeriod = std::chrono::seconds{1};

net::ServerLimits serving_limits(const Config& config) {
  net::ServerLimits limits;
  limits.head_bytes_max = config.limits.head_bytes_max;
  limits.fields_max = config.limits.fields_max;
  limits.open_heads_bytes_max = config.limits.header_memory;
  limits.connections_max =
      net::connections_within(net::raise_open_files().now, config.limits.connections_max);
  limits.upgrade_body_max = config.limits.upgrade_body_max;
  limits.streams_max = static_cast<std::uint32_t>(config.limits.streams_max);
  limits.control_frames_max = static_cast<std::uint32_t>(config.limits.control_frames_max);
  limits.head_timeout = config.limits.header_timeout;
  limits.body_timeout = config.limits.body_timeout;
  limits.write_timeout = config.limits.write_timeout;
  return limits;
}

}  // namespace

App::App(Config config)
    : config_{std::move(config)},
      log_{"queue-proxy", config_.log_least},
      drain_{config_.drain_quiet},
      probe_{io_, loop_, config_.probes, config_.user, config_.always_ready},
      telemetry_{io_, config_, log_, clock_.now()},
      gateway_{io_, clock_, config_, probe_, drain_, telemetry_},
      stat_server_{config_.pod},
      metrics_server_{"queue-proxy",
                      [this](std::string& out) {
                        metrics::Exposition text{out};
                        telemetry_.write(text, gateway_.queue_load());
                      }},
      admin_server_{config_.drain_callers, [this](DrainCall call) { on_drain_call(call); }},
      serving_tls_{net::TlsFiles::in(config_.certs_dir), config_.tls, log_},
      serving_{io_, clock_, gateway_, serving_limits(config_)},
      admin_{io_, clock_, admin_server_, net::side_limits()},
      stats_{io_, clock_, stat_server_, net::side_limits()},
      metrics_{io_, clock_, metrics_server_, net::side_limits()},
      signals_{io_},
      idle_signal_{io_, SIGUSR1},
      ticker_{io_},
      drain_timer_{io_},
      wait_timer_{io_},
      started_{clock_.now()},
      next_tick_{started_ + kReportPeriod} {
  for (const Problem& problem : gateway_.ignored().problems()) {
    log_.write(log::Severity::warning, "invalid ignore rule skipped", {{"reason", problem.text()}});
  }
  gateway_.on_idle([this] { check_drain(); });
}

Result<int, Problem> App::open() {
  const auto serving = serving_.listen(config_.serving);
  if (!serving) return settings::named("QUEUE_SERVING_PORT", serving.error());
  std::optional<net::Address> tls;
  if (config_.serving_tls) {
    const auto opened = serving_tls_.open(serving_, *config_.serving_tls);
    if (!opened) return settings::named("QUEUE_SERVING_TLS_PORT", opened.error());
    tls = *opened;
  }
  const auto admin = admin_.listen(config_.admin);
  if (!admin) return settings::named("SLUICE_ADMIN_ADDRESS", admin.error());
  const auto stats = stats_.listen(config_.stats);
  if (!stats) return settings::named("SLUICE_STATS_ADDRESS", stats.error());
  std::optional<net::Address> metrics;
  if (config_.observability.metrics) {
    const auto opened = metrics_.listen(*config_.observability.metrics);
    if (!opened) return settings::named("SLUICE_METRICS_ADDRESS", opened.error());
    metrics = *opened;
  }
  std::vector<std::pair<std::string, net::Address>> addresses{
      {"serving", *serving}, {"admin", *admin}, {"stats", *stats}};
  if (tls) addresses.emplace_back("tls", *tls);
  if (metrics) addresses.emplace_back("metrics", *metrics);
  if (auto problem = net::tell_ready(config_.ready_fd, addresses)) return std::move(*problem);
  return 0;
}

int App::run() {
  net::keep_freed_pages();
  // The reader of our log may close the pipe; that ends no request.
  std::signal(SIGPIPE, SIG_IGN);
  const auto opened = open();
  if (!opened) {
    log_.write(log::Severity::error, opened.error().text());
    return 1;
  }
  signals_.listen([this] { drain(true); }, [this] { leave(1); });
  close_idle_when_told();
  tick();
  io_.run();
  telemetry_.flush();
  return exit_code_;
}

void App::tick() {
  ticker_.expires_after(std::max(Duration{0}, next_tick_ - clock_.now()));
  ticker_.async_wait([this](const boost::system::error_code& ec) {
    if (ec) return;
    const load::LoadReport report = gateway_.report();
    proto::Stat stat;
    stat.pod_name = config_.pod;
    stat.average_concurrent_requests = report.average_concurrency;
    stat.average_proxied_concurrent_requests = report.average_proxied_concurrency;
    // Divided by the nominal period of one second, not by what really passed.
    stat.request_count = report.request_count;
    stat.proxied_request_count = report.proxied_request_count;
    stat.process_uptime = to_seconds(clock_.now() - started_);
    stat_server_.freeze(stat);
    serving_tls_.look();
    // A late tick is followed by one at its proper time; ticks that passed altogether are skipped.
    const TimePoint now = clock_.now();
    do {
      next_tick_ += kReportPeriod;
    } while (next_tick_ <= now);
    tick();
  });
}

void App::on_drain_call(DrainCall call) {
  switch (call) {
    case DrainCall::drain:
      drain(true);
      return;
    case DrainCall::tentative:
      drain(false);
      return;
    case DrainCall::wait:
      answer_waits();
      return;
  }
}

// A call that waits while a drain runs is answered at its end.
void App::answer_waits() {
  const TimePoint now = clock_.now();
  const auto next = admin_server_.release_waits(
      now, [this](TimePoint arrived) { return drain_.wait_due(arrived); });
  if (!next) return;
  wait_timer_.expires_after(*next - now);
  wait_timer_.async_wait([this](const boost::system::error_code& ec) {
    if (!ec) answer_waits();
  });
}

// The app is stopped for a while (SIGUSR1): what it closes then is closed when it runs on, perhaps
// under the next request.
void App::close_idle_when_told() {
  idle_signal_.async_wait([this](const boost::system::error_code& ec, int) {
    if (ec) return;
    gateway_.close_idle();
    close_idle_when_told();
  });
}

void App::drain(bool final) {
  const TimePoint now = clock_.now();
  if (final) {
    drain_.start(now);
    serving_.close_after_responses();
  } else {
    drain_.start_tentatively(now);
  }
  check_drain();
}

void App::check_drain() {
  const TimePoint now = clock_.now();
  if (drain_.expire_tentative(now)) {
    admin_server_.release();
    return;
  }
  if (drain_.done(now, gateway_.active())) {
    admin_server_.release();
    leave(0);
    return;
  }
  const auto due = drain_.tentative_until() ? drain_.tentative_until() : drain_.quiet_until();
  if (!due) return;
  if (*due <= now) {
    // Only requests keep the sidecar now: WebSockets are asked to end, the others finish.
    if (!drain_.tentative_until()) serving_.close_tunnels();
    return;
  }
  drain_timer_.expires_after(*due - now);
  drain_timer_.async_wait([this](const boost::system::error_code& ec) {
    if (!ec) check_drain();
  });
}

void App::leave(int code) {
  exit_code_ = code;
  serving_.stop_accepting();
  admin_.stop_accepting();
  stats_.stop_accepting();
  metrics_.stop_accepting();
  // What was answered is with the kernel already; idle connections end with the process.
  io_.stop();
}

int ask_to_drain(const Environment& environment) {
  const auto admin = read_admin(environment);
  if (!admin) {
    std::fprintf(stderr, "queue-proxy: %s\n", admin.error().text().c_str());
    return 1;
  }
  net::FetchRequest request;
  request.target = *admin;
  if (request.target.host.empty() && !admin->is_unix()) request.target.host = "127.0.0.1";
  request.text = "GET /drain HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
  request.timeout = std::chrono::hours{24};  // the supervisor's grace period is the real bound
  const net::FetchResult answer = net::fetch_now(std::move(request));
  if (answer && answer->head.status == 200) return 0;
  std::fprintf(stderr, "queue-proxy: no sidecar answers on %s\n", admin->text().c_str());
  return 1;
}

}  // namespace sluice::queue_proxy
