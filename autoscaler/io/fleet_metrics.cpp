#include "autoscaler/io/fleet_metrics.h"

#include "common/metrics/exposition.h"
#include "common/net/server/process_facts.h"

#include <functional>
#include <map>
#include <utility>
#include <vector>

namespace sluice::autoscaler {
namespace {

using metrics::Exposition;
using metrics::label_text;
using metrics::MetricType;

struct Labelled {
  const Revision* revision;
  std::string labels;
};

using Number = std::function<double(const Revision&)>;
using Chosen = std::function<bool(const Revision&)>;

std::vector<Labelled> labelled(const Fleet& fleet) {
  std::vector<Labelled> list;
  list.reserve(fleet.revisions().size());
  for (const auto& [id, revision] : fleet.revisions()) {
    list.push_back({revision.get(), label_text({{"k8s_namespace_name", id.space},
                                                {"kn_service_name", revision->facts().service},
                                                {"kn_revision_name", id.name}})});
  }
  return list;
}

void gauge(Exposition& text, const std::vector<Labelled>& revisions, std::string_view name,
           std::string_view help, const Number& number, const Chosen& chosen = {}) {
  text.family(name, MetricType::gauge, help);
  for (const Labelled& each : revisions) {
    if (!chosen || chosen(*each.revision)) text.value(each.labels, number(*each.revision));
  }
}

void write_decisions(Exposition& text, const std::vector<Labelled>& all) {
  const Chosen known = [](const Revision& r) { return r.gauges().known; };
  gauge(
      text, all, "kn_revision_pods_desired", "Pods the decider wants, before bounds",
      [](const Revision& r) { return r.gauges().desired; }, known);
  gauge(text, all, "kn_revision_pods_requested", "Pods asked of the platform",
        [](const Revision& r) { return r.want(); });
  gauge(
      text, all, "kn_revision_capacity_excess", "Excess burst capacity, in requests",
      [](const Revision& r) { return r.gauges().excess_burst_capacity; }, known);
  gauge(
      text, all, "kn_revision_panic_mode", "1 while in panic mode",
      [](const Revision& r) { return r.gauges().panic ? 1.0 : 0.0; }, known);
  const Chosen concurrency = [](const Revision& r) {
    return r.gauges().known && r.gauges().metric == ScalingMetric::concurrency;
  };
  const Chosen rps = [](const Revision& r) {
    return r.gauges().known && r.gauges().metric == ScalingMetric::rps;
  };
  const Number stable = [](const Revision& r) { return r.gauges().stable; };
  const Number panic = [](const Revision& r) { return r.gauges().window_panic; };
  const Number target = [](const Revision& r) { return r.gauges().target; };
  gauge(text, all, "kn_revision_concurrency_stable", "Average over the stable window", stable,
        concurrency);
  gauge(text, all, "kn_revision_concurrency_panic", "Average over the panic window", panic,
        concurrency);
  gauge(text, all, "kn_revision_concurrency_target", "Wanted of each pod", target, concurrency);
  gauge(text, all, "kn_revision_rps_stable", "Average over the stable window", stable, rps);
  gauge(text, all, "kn_revision_rps_panic", "Average over the panic window", panic, rps);
  gauge(text, all, "kn_revision_rps_target", "Wanted of each pod", target, rps);
}

void write_pods(Exposition& text, const std::vector<Labelled>& all) {
  gauge(text, all, "kn_revision_pods_count", "Pods that are ready and stay",
        [](const Revision& r) { return r.counts().ready; });
  gauge(text, all, "kn_revision_pods_not_ready_count", "Pods that are not ready, or leave",
        [](const Revision& r) { return r.counts().starting + r.counts().leaving; });
  gauge(text, all, "kn_revision_pods_pending_count", "Pods that are on their way",
        [](const Revision& r) { return r.counts().starting; });
  gauge(text, all, "kn_revision_pods_terminating_count", "Pods that are terminating",
        [](const Revision& r) { return r.counts().terminating; });
}

// Without the revision's name, as the reference has it: those of one service add up.
void write_scrapes(Exposition& text, const Fleet& fleet) {
  std::map<std::string, metrics::Histogram<14>> by_service;
  for (const auto& [id, revision] : fleet.revisions()) {
    const metrics::Histogram<14>& part = revision->scrape_seconds();
    if (part.sum == 0) continue;
    metrics::Histogram<14>& sum = by_service[label_text(
        {{"k8s_namespace_name", id.space}, {"kn_service_name", revision->facts().service}})];
    for (std::size_t i = 0; i < part.counts.size(); ++i) sum.counts[i] += part.counts[i];
    sum.sum += part.sum;
  }
  text.family("kn_autoscaler_scrape_duration_seconds", MetricType::histogram,
              "How long a round of scrapes took");
  for (const auto& [labels, histogram] : by_service) {
    text.histogram(labels, histogram.view(metrics::kSeconds));
  }
}

void write_totals(Exposition& text, const Fleet& fleet, const FleetTotals& totals) {
  const auto size = [](std::size_t number) { return static_cast<double>(number); };
  text.family("sluice_autoscaler_revisions", MetricType::gauge, "Revisions governed");
  text.value("", size(fleet.revisions().size()));
  text.family("sluice_autoscaler_activators", MetricType::gauge, "Who reports requests, by door");
  text.value("door=\"stream\"", size(totals.activators));
  text.value("door=\"websocket\"", size(totals.senders));
  text.family("sluice_autoscaler_nodes", MetricType::gauge, "Nodes whose agents report and act");
  text.value("", size(totals.nodes_reporting));
  text.family("sluice_autoscaler_throttled_pods", MetricType::gauge,
              "Pods that an agent holds back: they get no new requests");
  text.value("", size(totals.throttled_pods));
  text.family("sluice_autoscaler_platform_errors", MetricType::gauge,
              "Objects of the platform that are wrong now and change nothing");
  text.value("", size(totals.wrong_files));
  text.family("sluice_autoscaler_stats_total", MetricType::counter, "Received stats, by outcome");
  text.count("outcome=\"recorded\"", totals.intake.recorded);
  text.count("outcome=\"unknown_revision\"", totals.intake.unknown);
  text.count("outcome=\"flawed\"", totals.intake.flawed);
  text.count("outcome=\"late\"", totals.intake.late);
  text.family("sluice_autoscaler_stats_restamped_total", MetricType::counter,
              "Stats recorded at their arrival, their clock being off");
  text.count("", totals.intake.restamped);
  text.family("sluice_autoscaler_stream_batches_total", MetricType::counter,
              "Batches that activators sent");
  text.count("", totals.streams.batches);
  text.family("sluice_autoscaler_stream_gaps_total", MetricType::counter,
              "Batches that were lost, by their sequence");
  text.count("", totals.streams.gaps);
  text.family("sluice_autoscaler_stream_states_total", MetricType::counter,
              "States sent to activators");
  text.count("", totals.streams.sent);
  text.family("sluice_autoscaler_stream_refused_total", MetricType::counter, "Streams refused");
  text.count("", totals.streams.refused);
  text.family("sluice_autoscaler_frames_total", MetricType::counter, "WebSocket frames, by kind");
  text.count("kind=\"stats\"", totals.socket.frames - totals.socket.undecodable);
  text.count("kind=\"undecodable\"", totals.socket.undecodable);
  text.count("kind=\"text\"", totals.socket.text);
}

}  // namespace

void write_metrics(std::string& out, const Fleet& fleet, const FleetTotals& totals) {
  Exposition text{out};
  const std::vector<Labelled> all = labelled(fleet);
  write_decisions(text, all);
  write_pods(text, all);
  write_scrapes(text, fleet);
  write_totals(text, fleet, totals);
  metrics::write_process_facts(text, totals.started);
}

}  // namespace sluice::autoscaler
