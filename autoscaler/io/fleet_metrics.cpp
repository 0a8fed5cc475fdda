#include "autoscaler/io/fleet_metrics.h"

#include <functional>
#include <map>
#include <utility>
#include <vector>

namespace sluice::autoscaler {
namespace {

using metrics::Families;
using metrics::Labels;
using metrics::MetricType;

struct Labelled {
  const Revision* revision;
  Revision::Counts counts;
  Labels labels;
};

using Number = std::function<double(const Labelled&)>;
using Said = std::function<double(const Revision::Gauges&)>;
using Chosen = std::function<bool(const Revision::Gauges&)>;

std::vector<Labelled> labelled(const Fleet& fleet) {
  std::vector<Labelled> list;
  list.reserve(fleet.revisions().size());
  for (const auto& [id, revision] : fleet.revisions()) {
    if (!revision->facts().in_service) continue;
    list.push_back({revision.get(), revision->counts(), labels_of(*revision)});
  }
  return list;
}

void gauge(Families& families, const std::vector<Labelled>& revisions, std::string_view name,
           std::string_view help, const Number& number) {
  families.family(name, MetricType::gauge, help);
  for (const Labelled& each : revisions) families.value(each.labels, number(each));
}

// Of those whose last evaluation that had data is among the chosen.
void gauge(Families& families, const std::vector<Labelled>& revisions, std::string_view name,
           std::string_view help, const Chosen& chosen, const Said& said) {
  families.family(name, MetricType::gauge, help);
  for (const Labelled& each : revisions) {
    const Revision::Gauges& gauges = each.revision->gauges();
    if (gauges.known && chosen(gauges)) families.value(each.labels, said(gauges));
  }
}

void write_decisions(Families& families, const std::vector<Labelled>& all) {
  using Gauges = Revision::Gauges;
  const Chosen any = [](const Gauges&) { return true; };
  gauge(families, all, "kn_revision_pods_desired", "Pods that the load needs, before bounds.", any,
        [](const Gauges& gauges) { return gauges.desired; });
  gauge(families, all, "kn_revision_pods_requested",
        "Pods requested of the platform, after every rule.",
        [](const Labelled& each) { return each.revision->want(); });
  gauge(families, all, "kn_revision_pods_granted", "Pods requested that there is room for.",
        [](const Labelled& each) { return each.revision->granted(); });
  gauge(families, all, "kn_revision_capacity_excess", "Excess burst capacity, in requests.", any,
        [](const Gauges& gauges) { return gauges.excess_burst_capacity; });
  gauge(families, all, "kn_revision_panic_mode", "1 while in panic mode.", any,
        [](const Gauges& gauges) { return gauges.panic ? 1.0 : 0.0; });
  const Chosen concurrency = [](const Gauges& gauges) {
    return gauges.metric == ScalingMetric::concurrency;
  };
  const Chosen rps = [](const Gauges& gauges) { return gauges.metric == ScalingMetric::rps; };
  const Said stable = [](const Gauges& gauges) { return gauges.stable; };
  const Said panic = [](const Gauges& gauges) { return gauges.window_panic; };
  const Said target = [](const Gauges& gauges) { return gauges.target; };
  constexpr const char* kStable = "Average over the stable window.";
  constexpr const char* kPanic = "Average over the panic window.";
  constexpr const char* kTarget = "Target per pod.";
  gauge(families, all, "kn_revision_concurrency_stable", kStable, concurrency, stable);
  gauge(families, all, "kn_revision_concurrency_panic", kPanic, concurrency, panic);
  gauge(families, all, "kn_revision_concurrency_target", kTarget, concurrency, target);
  gauge(families, all, "kn_revision_rps_stable", kStable, rps, stable);
  gauge(families, all, "kn_revision_rps_panic", kPanic, rps, panic);
  gauge(families, all, "kn_revision_rps_target", kTarget, rps, target);
}

void write_pods(Families& families, const std::vector<Labelled>& all) {
  gauge(families, all, "kn_revision_pods_count", "Pods that are ready and not being removed.",
        [](const Labelled& each) { return each.counts.ready; });
  gauge(families, all, "kn_revision_pods_not_ready_count",
        "Pods that are not ready, or are being removed.",
        [](const Labelled& each) { return each.counts.starting + each.counts.leaving; });
  gauge(families, all, "kn_revision_pods_pending_count", "Pods that are starting.",
        [](const Labelled& each) { return each.counts.starting; });
  gauge(families, all, "kn_revision_pods_terminating_count",
        "Pods that the platform is terminating.",
        [](const Labelled& each) { return each.counts.terminating; });
  gauge(families, all, "kn_revision_pods_throttled", "Pods throttled while memory is short.",
        [](const Labelled& each) { return each.counts.throttled; });
}

// Without the revision's name, as the reference has it: those of one service add up.
void write_scrapes(Families& families, const Fleet& fleet) {
  std::map<std::pair<std::string, std::string>, metrics::Histogram<14>> by_service;
  for (const auto& [id, revision] : fleet.revisions()) {
    const metrics::Histogram<14>& part = revision->scrape_seconds();
    if (part.sum == 0) continue;
    metrics::Histogram<14>& sum = by_service[{id.space, revision->facts().service}];
    for (std::size_t i = 0; i < part.counts.size(); ++i) sum.counts[i] += part.counts[i];
    sum.sum += part.sum;
  }
  families.family("kn_autoscaler_scrape_duration_seconds", MetricType::histogram,
                  "How long a round of scrapes took.");
  for (const auto& [service, histogram] : by_service) {
    families.histogram({{"k8s_namespace_name", service.first}, {"kn_service_name", service.second}},
                       histogram.view(metrics::kSeconds));
  }
}

}  // namespace

Labels labels_of(const Revision& revision) {
  const model::Revision& facts = revision.facts();
  return {{"k8s_namespace_name", facts.id.space},
          {"kn_service_name", facts.service},
          {"kn_revision_name", facts.id.name}};
}

void write_fleet_metrics(Families& families, const Fleet& fleet) {
  const std::vector<Labelled> all = labelled(fleet);
  write_decisions(families, all);
  write_pods(families, all);
  write_scrapes(families, fleet);
}

}  // namespace sluice::autoscaler
