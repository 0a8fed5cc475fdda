// What Prometheus reads of an engine: the metrics that an autoscaler and an activator have of their
// revisions, and those of the one machine.

#include "activator/io/front_metrics.h"
#include "autoscaler/io/fleet_metrics.h"
#include "common/metrics/static_page.h"

#include "programs/sluice/engine/engine.h"

namespace sluice::local {
namespace {

void write_memory(metrics::Families& families, MemoryPressure& memory) {
  if (const MemoryRules* rules = memory.rules(); rules != nullptr && rules->memory()) {
    families.gauge("sluice_memory_capacity_bytes",
                   "Memory of the machine, or of the control group that limits the engine",
                   rules->memory()->capacity);
    families.gauge("sluice_memory_used_bytes", "Memory in use that cannot be reclaimed",
                   rules->memory()->used);
    families.gauge("sluice_memory_pressure", "0 ok, 1 high, 2 critical",
                   static_cast<int>(rules->decision().pressure));
    families.gauge("sluice_memory_admit_bytes", "Largest claim that may start now",
                   rules->admit_bytes());
  }
  const MemoryCounts& counts = memory.counts();
  families.counter("sluice_starts_refused_total", "Starts refused because memory was short",
                   counts.refused_starts);
  families.counter("sluice_throttles_total", "CPU quotas lowered because memory was short",
                   counts.throttles);
  families.counter("sluice_releases_total", "CPU quotas restored", counts.releases);
  families.counter("sluice_throttle_failures_total", "CPU quotas that could not be written",
                   counts.failures);
  families.counter("sluice_holds_total",
                   "Replicas without requests that were stopped until a request came",
                   counts.holds);
  families.counter("sluice_sacrifices_total", "Replicas stopped to free memory for others",
                   counts.sacrifices);
}

void write_stats(metrics::Families& families, const autoscaler::IntakeCounts& stats) {
  families.family("sluice_stats_dropped_total", metrics::MetricType::counter,
                  "Stats that were dropped");
  families.value({{"reason", "unknown_revision"}}, stats.unknown);
  families.value({{"reason", "flawed"}}, stats.flawed);
  families.value({{"reason", "late"}}, stats.late);
  families.counter("sluice_stats_restamped_total",
                   "Stats recorded with their time of arrival, because their own was implausible",
                   stats.restamped);
}

}  // namespace

std::string Engine::metrics_text() {
  std::vector<activator::NamedRevision> in_front;
  for (const auto& [id, revision] : fleet_.revisions()) {
    const auto handle = book_.find(id);
    if (handle && revision->facts().in_service) {
      in_front.push_back({*handle, autoscaler::labels_of(*revision)});
    }
  }
  std::string text;
  metrics::StaticPage{[&](metrics::Families& families) {
    autoscaler::write_fleet_metrics(families, fleet_);
    activator::write_request_gauges(families, front_, in_front);
    write_stats(families, scale_loop_.counts());
    write_memory(families, memory_);
    families.counter("sluice_placement_home_suppressed_total",
                     "Times that a liked place had room for less long than home-hold",
                     static_cast<std::uint64_t>(mover_.suppressed_home()));
  }}(text);
  return text;
}

}  // namespace sluice::local
