#include "programs/injector/app.h"

#include "common/kube/access.h"
#include "common/metrics/page.h"
#include "common/net/server/ready_line.h"
#include "common/net/server/side_limits.h"

#include <csignal>

namespace sluice::injector {
namespace {

constexpr Duration kLookPeriod = std::chrono::seconds{1};
constexpr Duration kLeaveStep = std::chrono::milliseconds{50};
constexpr int kLeaveSteps = 200;  // ten seconds: more than an API server waits for an answer

constexpr std::array<const char*, 5> kResults{"patched", "skipped", "refused", "allowed",
                                              "garbled"};

log::Severity severity_of(AdmissionAnswer::Result result) {
  const bool odd =
      result == AdmissionAnswer::Result::refused || result == AdmissionAnswer::Result::garbled;
  return odd ? log::Severity::warning : log::Severity::debug;
}

}  // namespace

App::App(Config config)
    : config_{std::move(config)},
      log_{"injector", config_.log_least},
      random_{static_cast<std::uint64_t>(clock_.now().time_since_epoch().count())},
      door_{io_,
            {},
            [this](std::string_view path, const std::string& body) { return respond(path, body); }},
      page_{metrics::Page{[this](metrics::Families& families) { write_metrics(families); }},
            [this] { return unready(); }},
      metrics_{io_, clock_, page_, net::side_limits()},
      signals_{io_},
      timer_{io_},
      file_timer_{io_} {}

Result<int, Problem> App::open() {
  auto access = kube::find_access(settings::process_environment());
  if (!access) return access.error();
  auto client = kube::Client::make(io_, clock_, log_, std::move(*access));
  if (!client) return client.error();
  client_ = std::move(*client);
  scalers_ =
      std::make_unique<ScalerWatch>(ScalerWatch::Place{io_, clock_, random_, log_, *client_});
  version_ = std::make_unique<ClusterVersion>(io_, *client_);
  if (const auto listening = listen(); !listening) return listening.error();
  scalers_->start();
  if (config_.native == Native::by_version) version_->start();
  if (config_.certs_dir.empty()) {
    keeper_ = std::make_unique<CertificateKeeper>(
        io_, clock_, log_, *client_,
        CertificateKeeperSpec{.space = config_.system_space, .names = config_.names},
        [this](const net::TlsPair& pair) { serve_with(pair); });
    keeper_->start();
  } else {
    files_.emplace(net::TlsFiles::in(config_.certs_dir));
    look_at_files();
  }
  if (auto problem = net::tell_ready(config_.ready_fd, addresses_)) return std::move(*problem);
  return 0;
}

Result<int, Problem> App::listen() {
  const auto webhook = door_.listen(config_.webhook);
  if (!webhook) return settings::named("SLUICE_WEBHOOK_ADDRESS", webhook.error());
  addresses_ = {{"webhook", *webhook}};
  if (!config_.observability.metrics) return 0;
  const auto metrics = metrics_.listen(*config_.observability.metrics);
  if (!metrics) return settings::named("SLUICE_METRICS_ADDRESS", metrics.error());
  addresses_.emplace_back("metrics", *metrics);
  return 0;
}

int App::run() {
  // The reader of our log may close the pipe; that ends nothing.
  std::signal(SIGPIPE, SIG_IGN);
  const auto opened = open();
  if (!opened) {
    log_.write(log::Severity::error, opened.error().text());
    return 1;
  }
  log_.write(log::Severity::info, "started", {{"image", config_.injection.image}});
  signals_.listen([this] { drain(); }, [this] { leave(1); });
  io_.run();
  return exit_code_;
}

AdmissionAnswer App::mutate(const std::string& body) const {
  InjectionSettings settings = config_.injection;
  settings.native = config_.native == Native::always ||
                    (config_.native == Native::by_version && version_->has_native_sidecars());
  return answer_mutation(
      body,
      [this](const std::string& space, const OwnerName& target) {
        return scalers_->find(space, target);
      },
      settings);
}

std::optional<WebhookDoor::Answer> App::respond(std::string_view path, const std::string& body) {
  AdmissionAnswer answer;
  if (path == "/mutate") {
    answer = mutate(body);
  } else if (path == "/validate") {
    answer = answer_validation(
        body, [this](const std::string& space, const OwnerName& target, const std::string& scaler) {
          return scalers_->rival(space, target, scaler);
        });
  } else {
    return std::nullopt;
  }
  const auto result = static_cast<std::size_t>(answer.result);
  ++answers_.at(result);
  log_.write(
      severity_of(answer.result), "admission",
      {{"path", std::string{path}}, {"result", kResults.at(result)}, {"about", answer.about}});
  return WebhookDoor::Answer{
      .status = answer.status,
      .body = std::move(answer.body),
      .content_type = answer.status == 200 ? "application/json" : "text/plain"};
}

void App::serve_with(const net::TlsPair& pair) {
  const auto served = door_.serve_with(pair);
  if (!served) log_.write(log::Severity::error, served.error().text());
}

void App::look_at_files() {
  const auto news = files_->look();
  if (!news) log_.write(log::Severity::error, news.error().text());
  if (news && *news) serve_with(**news);
  file_timer_.expires_after(kLookPeriod);
  file_timer_.async_wait([this](const boost::system::error_code& ec) {
    if (!ec) look_at_files();
  });
}

std::string App::unready() const {
  if (signals_.seen()) return "draining";
  if (!door_.has_certificate()) {
    return keeper_ && !keeper_->problem().empty() ? keeper_->problem() : "no certificate yet";
  }
  // Until then the API server does not trust the certificate, and pods start without a sidecar.
  if (keeper_ && !keeper_->registered()) {
    return keeper_->problem().empty() ? "the webhooks do not hold the CA bundle yet"
                                      : keeper_->problem();
  }
  if (config_.native == Native::by_version && !version_->known()) {
    return "the API server's version is not known yet";
  }
  const kube::Reflector::State& scalers = scalers_->state();
  // A cluster without the kind has no scalers.
  if (!scalers.synced && !scalers.absent) {
    return scalers.problem.empty() ? "RequestScalers are not listed yet" : scalers.problem;
  }
  return {};
}

void App::write_metrics(metrics::Families& families) const {
  using metrics::MetricType;
  families.family("sluice_injector_admissions_total", MetricType::counter,
                  "Admission reviews answered, by outcome.");
  for (std::size_t at = 0; at < kResults.size(); ++at) {
    families.value({{"result", kResults.at(at)}}, answers_.at(at));
  }
  families.gauge("sluice_injector_request_scalers", "Number of RequestScalers.", scalers_->size());
  families.gauge("sluice_injector_connections", "Connections from API servers.",
                 door_.connections());
  families.counter("sluice_injector_api_requests_total", "Requests to the API server.",
                   client_->counts().requests);
  families.counter("sluice_injector_api_failures_total", "Requests to the API server that failed.",
                   client_->counts().failures);
  if (!keeper_) return;
  families.gauge("sluice_injector_certificate_expires_seconds",
                 "Expiry of the serving certificate in Unix time; 0: none.",
                 static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::seconds>(
                                                keeper_->good_until().time_since_epoch())
                                                .count()));
  families.gauge("sluice_injector_registered",
                 "Whether the webhook configurations hold the CA bundle.",
                 keeper_->registered() ? 1 : 0);
}

// Unready at once; API servers that have not noticed yet are served until the quiet time is over.
void App::drain() {
  log_.write(log::Severity::info, "draining");
  timer_.expires_after(config_.drain_quiet);
  timer_.async_wait([this](const boost::system::error_code& ec) {
    if (ec) return;
    door_.stop();
    leave_soon(kLeaveSteps);
  });
}

void App::leave_soon(int steps_left) {
  if (door_.connections() == 0 || steps_left == 0) return leave(0);
  timer_.expires_after(kLeaveStep);
  timer_.async_wait([this, steps_left](const boost::system::error_code& ec) {
    if (!ec) leave_soon(steps_left - 1);
  });
}

void App::leave(int code) {
  exit_code_ = code;
  io_.stop();
}

}  // namespace sluice::injector
