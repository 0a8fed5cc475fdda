#include "programs/activator/app.h"

#include "activator/io/autoscaler_stream.h"
#include "activator/io/knative_link.h"
#include "common/base/version.h"
#include "common/kube/access.h"
#include "common/kube/client.h"
#include "common/metrics/page.h"
#include "common/net/server/open_files.h"
#include "common/net/server/page_return.h"
#include "common/net/server/ready_line.h"
#include "common/net/server/side_limits.h"

#include "platform/kubernetes/activator/io/cluster_metrics.h"
#include <algorithm>
#include <csignal>

namespace sluice::activator {
namespace {

constexpr Duration kSettleStep = std::chrono::milliseconds{10};
constexpr int kSettleSteps = 100;  // in turns of the loop: a busy machine cuts no request short
constexpr const char* kNotYet = "connection has not yet been established\n";
constexpr const char* kLeaving = "received SIGTERM from kubelet\n";

FrontSpec front_spec(const Config& config) {
  FrontSpec spec;
  spec.queues = config.queues;
  spec.pods.idle_max = config.idle_connections_per_pod;
  spec.idle_max = config.idle_connections;
  spec.pods.head_bytes_max = std::max(spec.pods.head_bytes_max, config.limits.head_bytes_max);
  spec.pods.fields_max = config.limits.fields_max;
  spec.pod_addressability = config.pod_addressability;
  return spec;
}

// Those who wait take a descriptor each, those on a pod a second one.
Config within_open_files(Config config) {
  std::size_t& connections = config.limits.connections_max;
  connections = net::connections_within(net::raise_open_files().now, connections);
  config.queues = within_connections(config.queues, static_cast<std::int64_t>(connections));
  return config;
}

net::ServerLimits serving_limits(net::ServerLimits limits, net::ConnectionCount& all) {
  limits.shared = &all;
  return limits;
}

// There may be many doors, and each reads heads of its own.
net::ServerLimits door_limits(net::ServerLimits limits, net::ConnectionCount& all) {
  limits = serving_limits(limits, all);
  limits.open_heads_bytes_max = std::max(limits.head_bytes_max, limits.open_heads_bytes_max / 8);
  return limits;
}

}  // namespace

App::App(Config config)
    : config_{within_open_files(std::move(config))},
      log_{"activator", config_.log_least},
      telemetry_{io_, config_.observability, config_.pod, log_, clock_.now()},
      pod_tls_{config_.certs_dir, config_.pod_tls_port, log_},
      connections_{config_.limits.connections_max},
      front_{io_, time_, book_, *this, front_spec(config_)},
      prober_{io_,
              time_,
              front_,
              asker_,
              {.probe_timeout = config_.probe_timeout,
               .probe_gap_max = config_.probe_frequency,
               .mesh = config_.mesh,
               .pod_addressability = config_.pod_addressability},
              {.on_pod_seen = [this](RevisionHandle pod) { wakes_.seen(pod, clock_.now()); },
               .on_pod_usable = [this](RevisionHandle pod) { wakes_.usable(pod, clock_.now()); }}},
      book_{front_,
            prober_,
            log_,
            {.cluster_domain = config_.cluster_domain,
             .queue_depth = config_.queue_depth,
             .queue_wait = config_.queue_wait,
             .pod_ip = config_.pod_ip,
             .foresees = !config_.autoscalers.empty()}},
      doors_{
          io_,    clock_,
          front_, [this](const RevisionId& id) { return book_.find(id); },
          log_,   {.host = config_.http.host, .limits = door_limits(config_.limits, connections_)}},
      status_{metrics::Page{[this](metrics::Families& families) { write_metrics(families); }},
              [this] { return checks(); }},
      serving_tls_{net::TlsFiles::in(config_.certs_dir), config_.tls_settings, log_},
      serving_{io_, clock_, front_, serving_limits(config_.limits, connections_)},
      metrics_{io_, clock_, status_, net::side_limits()},
      signals_{io_},
      drain_timer_{io_} {
  front_.set_unready(kNotYet);
  book_.on_added([this](const RevisionId& id, RevisionHandle /*handle*/) {
    const proto::RevisionState* state = peer_ ? peer_->state(id) : nullptr;
    if (state != nullptr) apply(*state);
  });
  book_.on_removed([this](RevisionHandle handle) {
    telemetry_.forget(handle);
    wakes_.forget(handle);
  });
  serving_.on_quiet([this] { check_drained(); });
  doors_.on_quiet([this] { check_drained(); });
}

App::~App() = default;

Result<int, Problem> App::open() {
  if (config_.pods_over_tls) {
    const auto trusted = pod_tls_.open();
    if (!trusted) return settings::named("SLUICE_POD_TLS", trusted.error());
    prober_.set_door([this](RevisionHandle revision, net::Address& address) {
      return pod_tls_.door(front_.id_of(revision).space, address);
    });
  }
  return config_.platform_path.empty() ? open_cluster() : serve();
}

// Nothing listens before the cluster's objects are known: a request would get the error that its
// revision does not exist.
Result<int, Problem> App::open_cluster() {
  auto access = kube::find_access(settings::process_environment());
  if (!access) return settings::named("SLUICE_PLATFORM", access.error());
  auto client = kube::Client::make(io_, clock_, log_, std::move(*access));
  if (!client) return settings::named("SLUICE_PLATFORM", client.error());
  if (config_.autoscalers.size() == 1) autoscaler_ = service_target(config_.autoscalers.front());
  // Of another namespace nothing may be read: the name then stands for one replica.
  if (autoscaler_ && autoscaler_->space != config_.system_space) autoscaler_.reset();
  const auto seed = static_cast<std::uint64_t>(clock_.now().time_since_epoch().count());
  cluster_ = std::make_unique<ClusterPlatform>(
      io_, clock_, log_, std::move(*client),
      ClusterSpec{.system_space = config_.system_space,
                  .autoscaler = autoscaler_ ? autoscaler_->service : std::string{},
                  .contract = config_.contract,
                  .seed = seed ^ std::hash<std::string>{}(config_.pod)},
      book_, doors_);
  cluster_->on_autoscalers([this](const std::vector<std::string>& /*addresses*/) {
    if (peer_) peer_->follow(replicas());
  });
  cluster_->start([this] { begin_serving(); });
  return 0;
}

void App::begin_serving() {
  if (signals_.seen()) return;
  const auto served = serve();
  if (served) return;
  log_.write(log::Severity::error, served.error().text());
  leave(1);
}

Result<int, Problem> App::serve() {
  if (const auto listening = listen(); !listening) return listening.error();
  if (const auto linked = open_link(); !linked) return linked.error();
  book_.set_own({addresses_[0].second, addresses_[1].second});
  if (!config_.platform_path.empty()) {
    directory_ = std::make_unique<files::PlatformDirectory>(io_, config_.platform_path, book_, log_,
                                                            files::PlatformOptions{});
    if (const auto problem = directory_->open()) {
      return settings::named("SLUICE_PLATFORM", *problem);
    }
  }
  serving_begun_ = true;
  peer_->start();
  desk_.start(*peer_, clock_.now() + std::chrono::seconds{1},
              [this](std::span<const RevisionStat> stats) { reported(stats); });
  return tell_ready();
}

Result<int, Problem> App::listen() {
  const auto http = serving_.listen(config_.http);
  if (!http) return settings::named("SLUICE_HTTP_ADDRESS", http.error());
  const auto h2c = serving_.listen(config_.h2c);
  if (!h2c) return settings::named("SLUICE_H2C_ADDRESS", h2c.error());
  addresses_ = {{"serving", *http}, {"h2c", *h2c}};
  if (config_.tls) {
    const auto tls = serving_tls_.open(serving_, *config_.tls);
    if (!tls) return settings::named("SLUICE_TLS_ADDRESS", tls.error());
    if (*tls) addresses_.emplace_back("tls", **tls);
  }
  if (config_.observability.metrics) {
    const auto metrics = metrics_.listen(*config_.observability.metrics);
    if (!metrics) return settings::named("SLUICE_METRICS_ADDRESS", metrics.error());
    addresses_.emplace_back("metrics", *metrics);
  }
  return 0;
}

// The autoscalers to talk to, each once: a name that stands for several is not resolved but
// followed, so that one which comes is known at once and none is left out.
std::vector<std::string> App::replicas() const {
  if (!autoscaler_ || cluster_->autoscalers().empty()) return config_.autoscalers;
  std::vector<std::string> targets;
  for (const std::string& ip : cluster_->autoscalers()) {
    targets.push_back(net::Address{.host = ip, .port = autoscaler_->port, .path = {}}.text());
  }
  return targets;
}

Result<int, Problem> App::open_link() {
  if (config_.autoscalers.empty()) {
    peer_ = std::make_unique<KnativeLink>(
        io_, log_, KnativeLinkSpec{.target = config_.knative_autoscaler, .pod = config_.pod},
        peer_events());
    return 0;
  }
  const net::Address& own = addresses_.front().second;
  net::Address reached = own;
  if (!own.is_unix() && (own.host.empty() || own.host == "0.0.0.0" || own.host == "::")) {
    reached.host = config_.pod_ip;
  }
  calls_.emplace(io_, CallSpec{.tls_dir = config_.rpc_tls_dir,
                               .tls_name = autoscaler_ ? autoscaler_->host : std::string{},
                               .activator = config_.pod});
  auto stream = AutoscalerStream::make(*calls_, log_,
                                       {.targets = replicas(),
                                        .self = {.activator = config_.pod,
                                                 .address = reached.text(),
                                                 .version = std::string{kVersion}}},
                                       peer_events());
  if (!stream) return settings::named("SLUICE_TLS_DIR", stream.error());
  peer_ = std::move(*stream);
  return 0;
}

Result<int, Problem> App::tell_ready() const {
  if (auto problem = net::tell_ready(config_.ready_fd, addresses_)) return std::move(*problem);
  return 0;
}

PeerEvents App::peer_events() {
  return {.on_state = [this](const proto::RevisionState& state) { apply(state); },
          .on_gone = [this](const RevisionId& id) { desk_.forget(id); },
          .on_reached =
              [this] {
                reached_ = true;
                if (!signals_.seen()) front_.set_unready({});
              },
          .held = [this] { return desk_.held(); }};
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
  log_.write(log::Severity::info, "started",
             {{"connections_max", std::to_string(config_.limits.connections_max)}});
  signals_.listen([this] { drain(); }, [this] { leave(1); });
  io_.run();
  telemetry_.flush();
  return exit_code_;
}

void App::apply(const proto::RevisionState& state) {
  const auto handle = book_.find(state.revision);
  if (handle && state.desired > 0) wakes_.decided(*handle, clock_.now());
  desk_.apply(state);
}

void App::reported(std::span<const RevisionStat> stats) {
  for (const RevisionStat& stat : stats) {
    const auto handle = book_.find(stat.revision);
    if (handle) telemetry_.reported(*handle, stat.average_concurrent_requests);
  }
  doors_.sweep();
  serving_tls_.look();
  if (config_.pods_over_tls) pod_tls_.look();
}

void App::on_poke(RevisionHandle revision, const RevisionStat& stat) {
  desk_.poke(revision, stat);
}

void App::on_held(RevisionHandle revision) {
  wakes_.held(revision, clock_.now());
}

void App::on_pod_refused(RevisionHandle revision, const PodId& pod, PodRefusal refusal) {
  prober_.refused(revision, pod, refusal);
}

// Every request that waited gets its own header; the start itself is reported once.
std::string App::cold_start(RevisionHandle revision, const PodId& pod, TimePoint arrived,
                            TimePoint dispatched) {
  auto cold = wakes_.first_byte(revision, arrived, dispatched, clock_.now());
  if (!cold) return {};
  if (cold->first) {
    cold->took.revision = front_.id_of(revision);
    cold->took.pod = pod.name;
    peer_->cold_start(cold->took);
  }
  return config_.cold_start_header ? cold_start_lines(cold->took) : std::string{};
}

void App::on_served(RevisionHandle revision, const Served& served) {
  const RevisionNames* names = book_.names(revision);
  if (names == nullptr) return;
  telemetry_.served(revision, front_.id_of(revision), *names, served, clock_.now());
}

std::vector<Check> App::checks() const {
  std::vector<Check> checks{{"autoscaler", reached_ ? "" : "not connected yet"},
                            {"signal", !signals_.seen() ? "" : "draining"}};
  return checks;
}

void App::write_metrics(metrics::Families& families) const {
  telemetry_.write(families, front_, [this](RevisionHandle handle) -> const RevisionNames& {
    return *book_.names(handle);
  });
  wakes_.write(families);
  using metrics::MetricType;
  const metrics::Labels peer{{"peer", "autoscaler"}};
  families.family("kn_activator_stats_conn_reachable", MetricType::gauge,
                  "Whether the autoscaler is connected.");
  families.value(peer, peer_->reachable() ? 1 : 0);
  families.family("kn_activator_stats_conn_errors_total", MetricType::counter,
                  "Connections to the autoscaler that failed or ended.");
  families.value(peer, peer_->errors());
  families.family("sluice_activator_pod_probes_total", MetricType::counter, "Probes sent to pods.");
  families.value({{"result", "passed"}}, prober_.counts().passed);
  families.value({{"result", "silent"}}, prober_.counts().silent);
  families.value({{"result", "not-ready"}}, prober_.counts().not_ready);
  families.gauge("sluice_activator_revisions", "Number of revisions.", book_.size());
  families.gauge("sluice_activator_listed_pods",
                 "Pods this activator may choose, of all revisions.", prober_.listed());
  families.gauge("sluice_activator_index",
                 "Position of this activator among all of them, -1 until it is listed.",
                 prober_.place().index);
  if (cluster_) write_cluster_metrics(families, *cluster_, doors_);
}

// Unready at once; clients that do not see it yet are served as before until the quiet period is
// over.
void App::drain() {
  front_.set_unready(kLeaving);
  log_.write(log::Severity::info, "draining");
  if (!serving_begun_) {
    leave(0);
    return;
  }
  drain_timer_.expires_after(config_.drain_quiet);
  drain_timer_.async_wait([this](const boost::system::error_code& ec) {
    if (!ec) on_quiet_over();
  });
}

void App::on_quiet_over() {
  quiet_over_ = true;
  serving_.stop_accepting();
  serving_.close_after_responses();
  serving_.close_tunnels();
  doors_.stop_accepting();
  doors_.close_after_responses();
  doors_.close_tunnels();
  settle_soon(kSettleSteps);
}

std::size_t App::in_flight() const {
  return serving_.in_flight() + doors_.in_flight();
}

void App::check_drained() {
  if (quiet_over_ && in_flight() == 0) settle_soon(kSettleSteps);
}

// Never at once: a request ends from deep inside its connection, and one that has just been read
// may not have begun yet.
void App::settle_soon(int steps_left) {
  drain_timer_.expires_after(kSettleStep);
  drain_timer_.async_wait([this, steps_left](const boost::system::error_code& ec) {
    if (!ec) settle(steps_left);
  });
}

// Nothing is in flight, but a request may lie unread in the kernel, and the GOAWAY of an idle
// connection may not have left: neither is cut. Connections that only linger get kSettleSteps.
void App::settle(int steps_left) {
  serving_.close_idle();
  doors_.close_idle();
  if (in_flight() > 0) return;
  if (serving_.connections() + doors_.connections() == 0 || steps_left == 0) {
    leave(0);
    return;
  }
  settle_soon(steps_left - 1);
}

void App::leave(int code) {
  exit_code_ = code;
  serving_.stop_accepting();
  doors_.stop_accepting();
  metrics_.stop_accepting();
  // What was answered is with the kernel already; idle connections end with the process.
  io_.stop();
}

}  // namespace sluice::activator
