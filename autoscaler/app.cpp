#include "autoscaler/app.h"

#include "autoscaler/core/buckets.h"
#include "autoscaler/version.h"
#include "common/messages/activator_stream.h"
#include "common/messages/node_stream.h"
#include "common/net/ready_line.h"
#include "common/net/side_limits.h"

#include <csignal>
#include <filesystem>
#include <utility>

namespace sluice::autoscaler {
namespace {

constexpr int kBadSetting = 78;

}  // namespace

// One replica holds the one bucket, and with it every revision.
App::App(Config config)
    : config_{std::move(config)},
      log_{"autoscaler", config_.log_least},
      started_{clock_.now()},
      random_{static_cast<std::uint64_t>(started_.time_since_epoch().count())},
      buckets_{bucket_names(1)},
      loop_{io_, clock_},
      hub_{{.autoscaler = config_.name, .version = std::string{kVersion}},
           {.all = buckets_, .owned = buckets_, .epoch = first_version(started_) >> 32U},
           started_},
      sink_{config_.platform_path, log_},
      surroundings_{
          .io = io_,
          .clock = clock_,
          .log = log_,
          .loop = loop_,
          .hub = hub_,
          .nodes = nodes_,
          .sink = sink_,
          .ring = ring_,
          .random = random_,
          .activator_connected = [this] { return hub_.connected() > 0 || stats_.connected() > 0; },
          .news = [this] { streams_.news(); }},
      fleet_{surroundings_},
      pods_{io_, config_.platform_path, log_},
      stats_{io_,
             log_,
             buckets_,
             {.stats = [this](std::span<const proto::StatMessage> all) { fleet_.pushed(all); }}},
      streams_{io_, clock_, log_, hub_,
               [this](const ActivatorHub::Heard& heard) { fleet_.heard(heard); }},
      node_streams_{io_, clock_, log_, nodes_, [this] { fleet_.nodes_changed(); }},
      api_{{.name = config_.name,
            .version = std::string{kVersion},
            .platform = config_.platform,
            .started = started_},
           clock_,
           fleet_,
           ring_,
           hub_,
           nodes_},
      health_{[this] { return checks(); },
              [this](std::string& out) { write_metrics(out, fleet_, totals()); }},
      api_server_{io_, clock_, api_, net::side_limits()},
      health_server_{io_, clock_, health_, net::side_limits()},
      signals_{io_} {}

std::optional<Problem> App::open_platform() {
  const std::filesystem::path path{config_.platform_path};
  std::error_code failed;
  if (!std::filesystem::is_directory(path, failed)) {
    return Problem{"SLUICE_PLATFORM: " + path.string() + " is not a directory",
                   "make it, with a directory `revisions` in it"};
  }
  if (auto problem = sink_.open(started_)) return problem;
  return pods_.open(fleet_);
}

std::optional<Problem> App::open_doors() {
  const auto stats = stats_.open(config_.stats);
  if (!stats) return settings::named("SLUICE_STATS_ADDRESS", stats.error());
  grpc_.emplace(io_, [this](std::unique_ptr<rpc::Call> call) { on_call(std::move(call)); });
  const auto grpc =
      grpc_->open({.address = config_.grpc.text(),
                   .methods = {proto::kActivatorStreamMethod, proto::kNodeStreamMethod},
                   .tls_dir = config_.tls_dir,
                   .calls_max = ActivatorHub::kSessionsMax + NodeBook::kNodesMax});
  if (!grpc) return settings::named("SLUICE_GRPC_ADDRESS", grpc.error());
  const auto api = api_server_.listen(config_.api);
  if (!api) return settings::named("SLUICE_API_ADDRESS", api.error());
  const auto metrics = health_server_.listen(config_.metrics);
  if (!metrics) return settings::named("SLUICE_METRICS_ADDRESS", metrics.error());
  return net::tell_ready(
      config_.ready_fd, {{"stats", *stats}, {"grpc", *grpc}, {"api", *api}, {"metrics", *metrics}});
}

void App::on_call(std::unique_ptr<rpc::Call> call) {
  if (call->method() == proto::kNodeStreamMethod) {
    node_streams_.take(std::move(call));
  } else {
    streams_.take(std::move(call));
  }
}

int App::run() {
  std::signal(SIGPIPE, SIG_IGN);
  if (const auto problem = open_platform()) {
    log_.write(log::Severity::error, problem->text());
    return kBadSetting;
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

// Nothing is handed over: whoever comes next reads the same files. Senders of stats are told to
// come back, and that is all there is to wait for.
void App::leave() {
  log_.write(log::Severity::info, "ends on a signal");
  api_server_.stop_accepting();
  health_server_.stop_accepting();
  streams_.close();
  node_streams_.close();
  grpc_.reset();
  stats_.close([this] { io_.stop(); });
}

std::vector<HealthCheck> App::checks() const {
  const std::vector<std::string> wrong = pods_.wrong();
  std::string shown;
  for (const std::string& name : wrong) {
    if (shown.size() > 200) break;
    shown += (shown.empty() ? "" : ", ") + name;
  }
  return {{"platform", true,
           wrong.empty() ? "" : std::to_string(wrong.size()) + " wrong files: " + shown},
          {"orders", sink_.failures() == 0,
           sink_.failures() == 0 ? "" : "the scale files cannot be written"},
          {"activators", true,
           std::to_string(hub_.connected()) + " on a stream, " +
               std::to_string(stats_.connected()) + " on a WebSocket"},
          {"shutdown", !signals_.seen(), ""}};
}

FleetTotals App::totals() const {
  return {.intake = loop_.counts(),
          .streams = hub_.counts(),
          .socket = stats_.counts(),
          .activators = hub_.connected(),
          .senders = stats_.connected(),
          .nodes_reporting = nodes_.reporting(),
          .throttled_pods = nodes_.throttled_pods(),
          .wrong_files = pods_.wrong().size(),
          .started = to_seconds(started_.time_since_epoch())};
}

}  // namespace sluice::autoscaler
