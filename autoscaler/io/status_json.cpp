// What the API shows of a revision and of the configuration.

#include "autoscaler/io/status_json.h"

#include "autoscaler/io/places_json.h"
#include "autoscaler/io/time_text.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>

namespace sluice::autoscaler {
namespace {

using nlohmann::json;

json replica_json(const Revision& revision, const Revision::PodFacts& pod) {
  return {{"id", pod.watched.id.name},
          {"state", state_of(revision, pod)},
          {"address", pod.watched.address ? pod.watched.address->text() : std::string{}},
          {"in_flight", pod.load ? json(*pod.load) : json{}},
          {"throttled", revision.throttled(pod)}};
}

// A peer's figure: bounded to what a TimePoint holds.
std::string since_text(std::int64_t ms) {
  constexpr std::int64_t kMost = 9'000'000'000'000;
  return format_time(TimePoint{std::chrono::milliseconds{std::clamp<std::int64_t>(ms, 0, kMost)}});
}

std::string seconds(Duration duration) {
  json number = to_seconds(duration);
  return number.dump() + "s";
}

}  // namespace

std::string_view state_of(const Revision& revision) {
  const Revision::Counts counts = revision.counts();
  if (counts.ready > 0) return "awake";
  // A start that failed is history once nothing is wanted.
  if (revision.want() > 0) return revision.start_failure().empty() ? "starting" : "failing";
  return counts.leaving > 0 ? "draining" : "asleep";
}

std::string_view state_of(const Revision& revision, const Revision::PodFacts& pod) {
  if (revision.leaving(pod)) return "draining";
  return pod.watched.ready ? "ready" : "starting";
}

RevisionStatus status_of(const Revision& revision, std::optional<double> last_cold_start_ms) {
  const auto& hosts = revision.facts().hosts;
  RevisionStatus status{.of = about(revision.facts()),
                        .state = state_of(revision),
                        .counts = revision.counts(),
                        .bounds = revision.bounds(),
                        .desired = revision.want(),
                        .granted = revision.granted(),
                        .decision = revision.last(),
                        .last_cold_start_ms = last_cold_start_ms,
                        .start_failure = revision.start_failure()};
  if (!hosts.empty()) status.url = "http://" + hosts.front().host + hosts.front().path_prefix;
  if (revision.scraped() && status.counts.ready > 0) {
    status.rps = revision.scraped()->request_count;
    status.in_flight = revision.scraped()->average_concurrency;
  }
  return status;
}

json status_json(const RevisionStatus& status) {
  const DecisionRecord& decision = status.decision;
  const bool failing = status.state == "failing";
  return {
      {"namespace", status.of.id.space},
      {"name", status.of.service},
      {"url", status.url.empty() ? json{} : json(status.url)},
      {"state", status.state},
      {"revision", status.of.id.name},
      {"ready", status.counts.ready},
      {"starting", status.counts.starting},
      {"draining", status.counts.leaving},
      {"min", status.bounds.min},
      {"max", status.bounds.max},
      {"desired", status.desired},
      {"granted", status.granted},
      {"mode", name(decision.mode)},
      {"mode_for_s", mode_for_s(decision)},
      {"route_mode", name(decision.route_mode)},
      {"stable", decision.stable},
      {"panic", decision.panic},
      {"target", decision.target},
      {"total", decision.total},
      {"rps", status.rps},
      {"queued", nullptr},
      {"in_flight", status.in_flight},
      {"p50_ms", nullptr},
      {"p99_ms", nullptr},
      {"last_cold_start_ms", status.last_cold_start_ms ? json(*status.last_cold_start_ms) : json{}},
      {"failing", failing},
      {"why", failing ? status.start_failure : why(decision)}};
}

json status_json(const Revision& revision, const json& last_cold_start) {
  std::optional<double> ms;
  if (!last_cold_start.is_null()) ms = last_cold_start.at("total_ms").get<double>();
  json status = status_json(status_of(revision, ms));
  const bool placed = !revision.places().empty();
  if (placed) status["places"] = shares_json(revision);
  if (const auto* const move = revision.moving()) status["moving"] = moving_json(*move);
  if (std::string room = revision.room_is_made(); !room.empty()) status["waits"] = std::move(room);
  json& replicas = status["replicas"] = json::array();
  for (const Revision::PodFacts& pod : revision.pods()) {
    replicas.push_back(replica_json(revision, pod));
    if (!pod.watched.node.empty() && placed) replicas.back()["place"] = pod.watched.node;
  }
  return status;
}

json node_json(const std::string& name, const NodeBook::Node& node) {
  static constexpr std::array<const char*, 4> kPressures{"unknown", "ok", "high", "critical"};
  const proto::NodeReport& report = node.report;
  json throttled = json::array();
  for (const proto::ThrottledContainer& each : report.throttled) {
    throttled.push_back({{"namespace", each.space},
                         {"pod", each.pod},
                         {"container", each.container},
                         {"quota_us", each.quota_us},
                         {"period_us", each.period_us},
                         {"since", since_text(each.since_ms)},
                         {"ladder_step", each.ladder_step}});
  }
  // An agent without a gate admits whatever comes.
  const std::int64_t capacity = report.capacity_bytes;
  const std::int64_t admit =
      capacity > 0 ? std::min(report.admit_bytes, capacity) : report.admit_bytes;
  return {{"name", name},
          {"pressure", kPressures[static_cast<std::size_t>(report.pressure)]},
          {"silent", node.silent},
          {"heard", format_time(node.heard)},
          {"capacity_bytes", report.capacity_bytes},
          {"used_bytes", report.used_bytes},
          {"reserve_bytes", report.reserve_bytes},
          {"growth_bytes_per_second", report.growth_bytes_per_second},
          {"admit_bytes", admit},
          {"some_avg10", report.some_avg10},
          {"full_avg10", report.full_avg10},
          {"degraded", report.degraded},
          {"dry_run", report.dry_run},
          {"version", report.version},
          {"throttled_containers", node.throttled},
          {"throttled", std::move(throttled)}};
}

json config_json(const ClusterConfig& config) {
  return {
      {"pod-autoscaler-class", config.pod_autoscaler_class},
      {"enable-scale-to-zero", config.enable_scale_to_zero},
      {"allow-zero-initial-scale", config.allow_zero_initial_scale},
      {"container-concurrency-target-percentage",
       config.container_concurrency_target_fraction * 100},
      {"container-concurrency-target-default", config.container_concurrency_target_default},
      {"requests-per-second-target-default", config.rps_target_default},
      {"target-burst-capacity", config.target_burst_capacity},
      {"activator-capacity", config.activator_capacity},
      {"max-scale-up-rate", config.max_scale_up_rate},
      {"max-scale-down-rate", config.max_scale_down_rate},
      {"stable-window", seconds(config.stable_window)},
      {"panic-window-percentage", config.panic_window_percentage},
      {"panic-threshold-percentage", config.panic_threshold_percentage},
      {"scale-to-zero-grace-period", seconds(config.scale_to_zero_grace_period)},
      {"scale-to-zero-pod-retention-period", seconds(config.scale_to_zero_pod_retention_period)},
      {"scale-down-delay", seconds(config.scale_down_delay)},
      {"initial-scale", config.initial_scale},
      {"min-scale", config.min_scale},
      {"max-scale", config.max_scale},
      {"max-scale-limit", config.max_scale_limit}};
}

}  // namespace sluice::autoscaler
