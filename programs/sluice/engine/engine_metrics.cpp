// The engine in Prometheus text: what its decisions were made from (autoscaler.md 12), and what
// its front door holds.

#include "programs/sluice/engine/engine.h"
#include <map>
#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>
#include <string_view>

namespace sluice::local {
namespace {

/// Families by name, in the order of their names.
class Families {
 public:
  void gauge(const char* name, const char* help, double value,
             std::vector<prometheus::ClientMetric::Label> labels) {
    prometheus::ClientMetric& metric = add(name, help, prometheus::MetricType::Gauge);
    metric.label = std::move(labels);
    metric.gauge.value = value;
  }

  void counter(const char* name, const char* help, std::uint64_t value,
               std::vector<prometheus::ClientMetric::Label> labels) {
    prometheus::ClientMetric& metric = add(name, help, prometheus::MetricType::Counter);
    metric.label = std::move(labels);
    metric.counter.value = static_cast<double>(value);
  }

  [[nodiscard]] std::string text() const {
    std::vector<prometheus::MetricFamily> all;
    for (const auto& [name, family] : families_) all.push_back(family);
    return prometheus::TextSerializer{}.Serialize(all);
  }

 private:
  prometheus::ClientMetric& add(const char* name, const char* help, prometheus::MetricType type) {
    prometheus::MetricFamily& family = families_[name];
    family.name = name;
    family.help = help;
    family.type = type;
    return family.metric.emplace_back();
  }

  std::map<std::string, prometheus::MetricFamily> families_;
};

void add_memory(Families& families, MemoryPressure& memory) {
  if (const MemoryRules* rules = memory.rules(); rules != nullptr && rules->memory()) {
    const node_agent::Decision& decision = rules->decision();
    families.gauge("sluice_memory_capacity_bytes", "Of the machine, or of the group that bounds us",
                   static_cast<double>(rules->memory()->capacity), {});
    families.gauge("sluice_memory_used_bytes", "Memory in use that cannot be reclaimed",
                   static_cast<double>(rules->memory()->used), {});
    families.gauge("sluice_memory_pressure", "0 ok, 1 high, 2 critical",
                   static_cast<double>(decision.pressure), {});
    families.gauge("sluice_memory_admit_bytes", "Largest claim that may start now",
                   static_cast<double>(rules->admit_bytes()), {});
  }
  const MemoryCounts& counts = memory.counts();
  families.counter("sluice_starts_refused_total", "Times a start was refused for want of memory",
                   counts.refused_starts, {});
  families.counter("sluice_throttles_total", "CPU quotas set for want of memory", counts.throttles,
                   {});
  families.counter("sluice_releases_total", "CPU quotas given back", counts.releases, {});
  families.counter("sluice_throttle_failures_total", "CPU quotas that could not be written",
                   counts.failures, {});
  families.counter("sluice_sacrifices_total", "Replicas stopped so that others could go on",
                   counts.sacrifices, {});
}

}  // namespace

std::string Engine::metrics_text() {
  Families families;
  for (const auto& [id, revision_ptr] : fleet_.revisions()) {
    const autoscaler::Revision& revision = *revision_ptr;
    if (!revision.facts().in_service) continue;
    const auto gauge = [&](const char* metric, const char* help, double value) {
      families.gauge(metric, help, value,
                     {{"k8s_namespace_name", "default"},
                      {"kn_service_name", revision.facts().service},
                      {"kn_revision_name", revision.facts().id.name}});
    };
    const autoscaler::Revision::Counts counts = revision.counts();
    gauge("kn_revision_pods_requested", "Replicas wanted, after every rule", revision.want());
    gauge("kn_revision_pods_throttled", "Ready replicas that are held back while memory is short",
          counts.throttled);
    gauge("kn_revision_pods_count", "Replicas ready", counts.ready);
    gauge("kn_revision_pods_pending_count", "Replicas starting", counts.starting);
    gauge("kn_revision_pods_terminating_count", "Replicas draining", counts.leaving);
    gauge("kn_revision_request_queued", "Requests held", static_cast<double>(waiting(id)));
    const auto handle = book_.find(id);
    gauge("kn_revision_request_active", "Requests in flight",
          handle ? static_cast<double>(front_.in_flight(*handle)) : 0);

    const autoscaler::DecisionRecord last = revision.last();
    gauge("kn_revision_pods_granted", "Replicas there is room for", last.granted);
    gauge("kn_revision_panic_mode", "1 while in panic",
          last.mode == autoscaler::Mode::panic ? 1 : 0);
    gauge("kn_revision_pods_desired", "Replicas the load asks for, before bounds; -1: unknown",
          last.desired);
    gauge("kn_revision_capacity_excess", "Burst capacity to spare, in requests",
          last.excess_burst_capacity);
    const bool rps = last.metric == autoscaler::ScalingMetric::rps;
    gauge(rps ? "kn_revision_rps_stable" : "kn_revision_concurrency_stable",
          "Average of the stable window", last.stable);
    gauge(rps ? "kn_revision_rps_panic" : "kn_revision_concurrency_panic",
          "Average of the panic window", last.panic);
    gauge(rps ? "kn_revision_rps_target" : "kn_revision_concurrency_target", "Wanted per replica",
          last.target);
  }
  const autoscaler::IntakeCounts& stats = scale_loop_.counts();
  const auto dropped = [&families](const char* reason, std::uint64_t count) {
    families.counter("sluice_stats_dropped_total", "Stats that reached no window", count,
                     {{"reason", reason}});
  };
  dropped("unknown_revision", stats.unknown);
  dropped("flawed", stats.flawed);
  dropped("late", stats.late);
  families.counter("sluice_stats_restamped_total",
                   "Stats recorded at the time they arrived, since their own was not believed",
                   stats.restamped, {});
  add_memory(families, memory_);
  return families.text();
}

}  // namespace sluice::local
