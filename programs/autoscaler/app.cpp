#include "programs/autoscaler/app.h"

#include "autoscaler/core/share/buckets.h"
#include "autoscaler/io/fleet_metrics.h"
#include "common/base/exit_status.h"
#include "common/base/version.h"
#include "common/messages/activator_stream.h"
#include "common/messages/node_stream.h"
#include "common/metrics/page.h"
#include "common/net/server/process_facts.h"
#include "common/net/server/ready_line.h"
#include "common/net/server/side_limits.h"

#include "platform/directory/directory_platform.h"
#include "programs/autoscaler/change_rule.h"
#include <algorithm>
#include <csignal>
#include <iterator>
#include <utility>

namespace sluice::autoscaler {
namespace {

constexpr std::chrono::seconds kReleaseLimit{5};

// Others than this program's user ask here, so that most places stay free of those who listen.
api::ApiServerLimits api_limits() {
  api::ApiServerLimits limits;
  limits.connections_max = 256;
  limits.streams_max = 64;
  return limits;
}

}  // namespace

// One replica holds the one bucket, and with it every revision; in a cluster, what leases say.
App::App(Config config)
    : config_{std::move(config)},
      log_{"autoscaler", config_.log_least},
      started_{clock_.now()},
      random_{static_cast<std::uint64_t>(started_.time_since_epoch().count())},
      buckets_{bucket_names(1)},
      loop_{time_},
      hub_{{.autoscaler = config_.name, .version = std::string{kVersion}},
           {.all = buckets_, .owned = buckets_, .epoch = first_version(started_) >> 32U},
           started_},
      fleet_events_{time_, events_, history_},
      platform_{make_platform()},
      surroundings_{
          .clock = time_,
          .stats = pod_stats_,
          .log = log_,
          .loop = loop_,
          .hub = hub_,
          .placement = placement_,
          .throttled = nodes_,
          .platform = *platform_,
          .events = fleet_events_,
          .random = random_,
          .activator_connected = [this] { return hub_.connected() > 0 || stats_.connected() > 0; },
          .news = [this] { streams_.news(); },
          .recordings = &recordings_},
      fleet_{surroundings_},
      view_{time_, fleet_events_, nullptr},
      stats_{io_,
             log_,
             buckets_,
             {.stats = [this](std::span<const proto::StatMessage> all) { on_stats(all); }}},
      refusals_{clock_, log_},
      streams_{time_, log_, hub_,
               [this](const ActivatorHub::Heard& heard) { fleet_.heard(heard); }},
      node_streams_{time_,
                    log_,
                    nodes_,
                    refusals_,
                    [this] { fleet_.room_changed(); },
                    cluster_ == nullptr
                        ? NodeStreams::Where{}
                        : [this](const std::string& space,
                                 const std::string& pod) { return cluster_->node_of(space, pod); }},
      peers_{io_, [this] { return other_replicas(); }},
      api_{facts(),
           {.fleet = fleet_,
            .seen = fleet_events_,
            .history = history_,
            .hub = hub_,
            .nodes = &nodes_,
            .placement = placement_,
            .events = events_,
            .elsewhere = [this](const RevisionId& id) { return holder_of(id); }}},
      view_api_{{.program = facts(), .form = "cluster", .edit = !config_.api_token_file.empty()},
                {.clock = time_,
                 .api = api_,
                 .view = view_,
                 .history = history_,
                 .front = nullptr,
                 .peers = &peers_}},
      routes_{clock_, api_, nullptr, change_rule(config_.api_token_file), &view_api_},
      joined_api_{config_.name, time_, routes_, api_, peers_, change_rule(config_.api_token_file)},
      health_{[this] { return checks(); },
              metrics::Page{[this](metrics::Families& families) { write_metrics(families); }}},
      api_server_{io_, joined_api_, api_limits()},
      health_server_{io_, clock_, health_, net::side_limits()},
      signals_{io_} {
  node_streams_.on_pressure([this](const std::string& node) {
    fleet_events_.pressure_changed(node, nodes_.nodes().at(node));
  });
}

App::~App() = default;

ApiFacts App::facts() const {
  return {.name = config_.name,
          .version = std::string{kVersion},
          .platform = config_.platform,
          .started = started_};
}

// Where replicas run: files in a directory, or the pods of a cluster.
std::unique_ptr<Platform> App::make_platform() {
  if (!config_.platform_path.empty()) {
    return std::make_unique<DirectoryPlatform>(io_, config_.platform_path, log_);
  }
  auto cluster =
      std::make_unique<ClusterPlatforms>(io_, clock_, random_, log_,
                                         ClusterSelf{.pod = config_.name,
                                                     .system_space = config_.system_space,
                                                     .domain = config_.cluster_domain,
                                                     .shadow = config_.shadow},
                                         settings::process_environment());
  cluster_ = cluster.get();
  return cluster;
}

// In a cluster nothing is ours before a lease is. A shadow holds no lease: it decides beside the
// holder, and writes nothing.
std::optional<Problem> App::open_platform() {
  const bool shared = cluster_ != nullptr && !config_.shadow;
  if (cluster_ != nullptr && !config_.stats_relay.empty()) {
    relay_.emplace(io_, clock_, log_, config_.stats_relay);
  }
  if (shared) {
    hub_.set_buckets({.all = buckets_, .owned = {}, .epoch = first_version(started_) >> 32U});
    cluster_->set_owned(buckets_, {});
    node_streams_.set_leading(false);
  }
  auto wrong = platform_->open(fleet_, started_,
                               [this](const std::optional<Problem>& problem) { settled(problem); });
  if (!wrong && cluster_ != nullptr && !config_.tls_dir.empty()) keep_certificates();
  if (wrong || !shared) return wrong;
  share_.emplace(io_, clock_, random_, log_, *cluster_->client(), fleet_,
                 BucketShareSpec{.self = {.pod = config_.name, .address = config_.pod_address},
                                 .space = config_.system_space,
                                 .domain = config_.cluster_domain},
                 BucketShare::Events{.owned = [this](const std::vector<std::string>& all,
                                                     const std::vector<std::string>& owned,
                                                     std::uint64_t epoch) {
                   // Activators judge what is gone by the buckets, so those are sent first.
                   hub_.set_buckets({.all = all, .owned = owned, .epoch = epoch});
                   stats_.set_owned(owned);
                   cluster_->set_owned(all, {owned.begin(), owned.end()});
                   node_streams_.set_leading(leads(all, owned));
                   streams_.news();
                 }});
  cluster_->confirm_by([this] { share_->confirm(); });
  share_->start();
  return std::nullopt;
}

// What the Secret holds comes to the directory before gRPC reads it there.
void App::keep_certificates() {
  plain_.emplace(clock_, log_, *cluster_->client(), config_.system_space);
  if (config_.tls_secret.empty()) return;
  certificates_.emplace(
      io_, clock_, log_, *cluster_->client(),
      StreamCertificatesSpec{.space = config_.system_space,
                             .domain = config_.cluster_domain,
                             .secret = config_.tls_secret,
                             .dir = config_.tls_dir},
      StreamCertificates::Events{.ready = [this] { certificates_ready(); },
                                 .failed = [this](const Problem& problem) { fail(problem, 1); }});
  enrolment_.emplace(io_, clock_, log_, *cluster_->client(), refusals_, config_.system_space,
                     [this](const std::string& node, const std::string& public_key) {
                       return certificates_->sign_agent(node, public_key);
                     });
  certificates_->start();
}

void App::write_metrics(metrics::Families& families) const {
  write_fleet_metrics(families, fleet_);
  write_totals(families);
  metrics::write_process_facts(families, to_seconds(started_.time_since_epoch()));
  platform_->write_metrics(families);
  if (share_) share_->write_metrics(families);
  if (relay_) relay_->write_metrics(families);
  refusals_.write_metrics(families);
  write_certificate_metrics(families);
}

void App::write_certificate_metrics(metrics::Families& families) const {
  if (!certificates_) return;
  families.gauge("sluice_autoscaler_certificate_expires_seconds",
                 "Expiry of the certificate of the streams in Unix time",
                 to_seconds(certificates_->keeper().good_until().time_since_epoch()));
  families.counter("sluice_autoscaler_enrolled_total", "Certificates issued to node agents",
                   enrolment_->given());
}

void App::certificates_ready() {
  const auto enroll = enrolment_->serve(*config_.enroll, certificates_->keeper().set().pair());
  if (grpc_) {
    if (enroll) return;
    log_.write(log::Severity::error, "the enrolment port keeps its previous certificate",
               {{"problem", enroll.error().text()}});
    return;
  }
  if (!enroll) return fail(settings::named("SLUICE_ENROLL_ADDRESS", enroll.error()), 1);
  doors_.emplace_back("enroll", *enroll);
  if (const auto problem = open_grpc()) return fail(*problem, 1);
  bound_ = true;
  if (settled_) tell_ready();
}

std::optional<Problem> App::open_grpc() {
  using rpc::Caller;
  grpc_.emplace(
      io_, [this](std::unique_ptr<rpc::Call> call) { on_call(std::move(call)); },
      [this](const std::string& peer, const rpc::Refused& refused) {
        refusals_.add(rpc::name_of(refused.why), peer, refused.ending.text);
      });
  rpc::ServerOptions options{.address = config_.grpc.text(),
                             .methods = {proto::kActivatorStreamMethod, proto::kNodeStreamMethod},
                             .tls_dir = config_.tls_dir,
                             .callers = {{proto::kActivatorStreamMethod, Caller::activator},
                                         {proto::kNodeStreamMethod, Caller::node_agent}},
                             .calls_max = ActivatorHub::kSessionsMax + NodeBook::kNodesMax};
  if (plain_) {
    options.admit_plain = [this](const std::string& ip, std::function<void(bool)> answer) {
      plain_->ask(ip, std::move(answer));
    };
    options.plain_methods = {proto::kActivatorStreamMethod};
  }
  const auto grpc = grpc_->open(options);
  if (!grpc) return settings::named("SLUICE_GRPC_ADDRESS", grpc.error());
  doors_.emplace_back("grpc", *grpc);
  return std::nullopt;
}

std::optional<Problem> App::open_doors() {
  if (config_.stats) {
    const auto stats = stats_.open(*config_.stats);
    if (!stats) return settings::named("SLUICE_STATS_ADDRESS", stats.error());
    doors_.emplace_back("stats", *stats);
  }
  if (!certificates_) {
    if (auto problem = open_grpc()) return problem;
  }
  // Who reaches this door may read all there is (docs/threat-model.md).
  const auto api = api_server_.listen(config_.api, api::Proof::own_user);
  if (!api) return settings::named("SLUICE_API_ADDRESS", api.error());
  const auto metrics = health_server_.listen(config_.metrics);
  if (!metrics) return settings::named("SLUICE_METRICS_ADDRESS", metrics.error());
  doors_.emplace_back("api", *api);
  api_port_ = api->port;
  doors_.emplace_back("metrics", *metrics);
  bound_ = !certificates_;
  return settled_ && bound_ ? net::tell_ready(config_.ready_fd, doors_) : std::nullopt;
}

void App::tell_ready() {
  if (const auto wrong = net::tell_ready(config_.ready_fd, doors_)) fail(*wrong, 1);
}

// Ready once the doors are open and what there is is known, whichever comes last.
void App::settled(const std::optional<Problem>& problem) {
  settled_ = true;
  fleet_events_.begin();
  if (problem) return fail(*problem, kExitConfig);
  if (bound_) tell_ready();
}

void App::fail(const Problem& problem, int code) {
  log_.write(log::Severity::error, problem.text());
  exit_code_ = code;
  io_.stop();
}

void App::on_call(std::unique_ptr<rpc::Call> call) {
  if (call->method() == proto::kNodeStreamMethod) {
    node_streams_.take(std::move(call));
  } else {
    streams_.take(std::make_unique<ActivatorCall>(std::move(call)));
  }
}

std::string App::holder_of(const RevisionId& revision) const {
  const auto holder = share_ ? share_->elsewhere(revision) : std::nullopt;
  return holder ? holder->pod + " at " + holder->address : std::string{};
}

// Replicas are alike: the API of each is at the port of this one's.
std::optional<PeerList> App::other_replicas() const {
  const auto holders = share_ ? share_->holders() : std::nullopt;
  if (!holders || api_port_ == 0) return std::nullopt;
  const auto peer_of = [this](const Holder& holder) {
    return Peer{.name = holder.pod, .api = {.host = holder.address, .port = api_port_, .path = {}}};
  };
  PeerList list{.unheld = holders->unheld};
  for (const Holder& other : holders->others) list.peers.push_back(peer_of(other));
  if (holders->leader) list.leader = peer_of(*holders->leader);
  return list;
}

// Stats of revisions that Knative's own autoscaler scales go to it and to none of our replicas. A
// shadow reads them too.
void App::on_stats(std::span<const proto::StatMessage> every) {
  std::vector<proto::StatMessage> all{every.begin(), every.end()};
  if (cluster_ != nullptr) {
    const auto others = std::erase_if(
        all, [this](const auto& message) { return !cluster_->is_knative(message.revision); });
    for (std::size_t each = 0; each < others; ++each) {
      refusals_.add("stat_of_request_scaler", "a WebSocket",
                    "a stat on SLUICE_STATS_ADDRESS is about a RequestScaler: our own activators "
                    "report those, on SLUICE_GRPC_ADDRESS");
    }
  }
  if (relay_) {
    relay_->take(all, [this](const RevisionId& revision) { return !cluster_->scales(revision); });
  }
  if (!share_) return fleet_.pushed(all);
  if (!relay_) return share_->pushed(all);
  std::vector<proto::StatMessage> ours;
  std::copy_if(all.begin(), all.end(), std::back_inserter(ours),
               [this](const auto& message) { return cluster_->scales(message.revision); });
  share_->pushed(ours);
}

int App::run() {
  std::signal(SIGPIPE, SIG_IGN);
  auto wrong = check_token_file(config_.api_token_file);
  if (!wrong) wrong = open_platform();
  if (wrong) {
    log_.write(log::Severity::error, wrong->text());
    return kExitConfig;
  }
  if (const auto problem = open_doors()) {
    log_.write(log::Severity::error, problem->text());
    return 1;
  }
  log_.write(
      log::Severity::info, "started",
      {{"platform", config_.platform}, {"revisions", std::to_string(fleet_.revisions().size())}});
  signals_.listen([this] { leave(); }, [this] { give_up(); });
  io_.run();
  return exit_code_;
}

void App::give_up() {
  exit_code_ = 1;
  io_.stop();
}

// In a cluster our buckets are given back first, so that another replica scales on at once.
void App::leave() {
  log_.write(log::Severity::info, "stopping on a signal");
  api_server_.stop();
  health_server_.stop_accepting();
  if (!share_) return close_doors();
  share_->leave(kReleaseLimit, [this] { close_doors(); });
}

// Senders of stats get a close that makes them reconnect; there is nothing else to wait for.
void App::close_doors() {
  streams_.close();
  node_streams_.close();
  if (enrolment_) enrolment_->close();
  grpc_.reset();
  stats_.close([this] { io_.stop(); });
}

std::vector<HealthCheck> App::checks() const {
  std::vector<HealthCheck> all = platform_->checks();
  all.push_back({"activators", true,
                 std::to_string(hub_.connected()) + " on a stream, " +
                     std::to_string(stats_.connected()) + " on a WebSocket"});
  if (share_) all.push_back(share_->check());
  if (certificates_) {
    all.push_back({"certificates", grpc_.has_value(), certificates_->keeper().problem()});
  }
  all.push_back({"shutdown", !signals_.seen(), ""});
  return all;
}

// What arrived through each door.
void App::write_totals(metrics::Families& families) const {
  using metrics::MetricType;
  const IntakeCounts& intake = loop_.counts();
  const ActivatorHub::Counts& streams = hub_.counts();
  const StatSocketCounts& socket = stats_.counts();
  families.gauge("sluice_autoscaler_revisions", "Revisions governed", fleet_.revisions().size());
  families.family("sluice_autoscaler_activators", MetricType::gauge,
                  "Senders of request stats, by door");
  families.value({{"door", "stream"}}, hub_.connected());
  families.value({{"door", "websocket"}}, stats_.connected());
  families.gauge("sluice_autoscaler_nodes", "Nodes whose agents report and are switched on",
                 nodes_.reporting());
  families.gauge("sluice_autoscaler_throttled_pods",
                 "Pods that a node agent throttles: they get no new requests",
                 nodes_.throttled_pods());
  families.gauge("sluice_autoscaler_platform_errors",
                 "Objects of the platform that are invalid and have no effect",
                 platform_->wrong().size());
  families.family("sluice_autoscaler_stats_total", MetricType::counter,
                  "Received stats, by outcome");
  families.value({{"outcome", "recorded"}}, intake.recorded);
  families.value({{"outcome", "unknown_revision"}}, intake.unknown);
  families.value({{"outcome", "flawed"}}, intake.flawed);
  families.value({{"outcome", "late"}}, intake.late);
  families.counter("sluice_autoscaler_stats_restamped_total",
                   "Stats recorded with their time of arrival, because their own was implausible",
                   intake.restamped);
  families.counter("sluice_autoscaler_stream_batches_total", "Batches received from activators",
                   streams.batches);
  families.counter("sluice_autoscaler_stream_gaps_total",
                   "Batches lost, counted by gaps in the sequence", streams.gaps);
  families.counter("sluice_autoscaler_stream_states_total", "States sent to activators",
                   streams.sent);
  families.counter("sluice_autoscaler_stream_refused_total", "Streams refused", streams.refused);
  families.family("sluice_autoscaler_frames_total", MetricType::counter,
                  "WebSocket frames, by kind");
  families.value({{"kind", "stats"}}, socket.frames - socket.undecodable);
  families.value({{"kind", "undecodable"}}, socket.undecodable);
  families.value({{"kind", "text"}}, socket.text);
}

}  // namespace sluice::autoscaler
