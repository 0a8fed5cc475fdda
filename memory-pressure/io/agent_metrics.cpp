#include "memory-pressure/io/agent_metrics.h"

#include "common/net/server/process_facts.h"

#include <limits>

namespace sluice::node_agent {
namespace {

using metrics::Families;
using metrics::MetricType;

void write_state(Families& families, const ControlLoop& loop, const AgentFacts& facts) {
  const Observation& seen = loop.controller().seen();
  const Decision& decision = loop.controller().decision();
  families.gauge("node_agent_pressure", "0 ok, 1 high, 2 critical.",
                 static_cast<int>(decision.pressure));
  if (seen.memory) {
    families.gauge("node_agent_memory_capacity_bytes",
                   "Memory capacity of the node, or of the configured group.",
                   seen.memory->capacity);
    families.gauge("node_agent_memory_used_bytes", "Memory in use that cannot be reclaimed.",
                   seen.memory->used);
  }
  families.gauge("node_agent_upper_ratio", "Share of capacity above which the agent throttles now.",
                 decision.upper);
  families.gauge("node_agent_growth_bytes_per_second", "Memory growth of all containers.",
                 decision.growth_per_second);
  families.gauge(
      "node_agent_admit_bytes", "Largest memory claim that may start; 0: none; +Inf: no gate.",
      decision.admit_bytes == kAdmitAnything ? std::numeric_limits<double>::infinity()
                                             : static_cast<double>(decision.admit_bytes));
  families.gauge("node_agent_containers", "Running containers that are watched.",
                 seen.containers.size());
  families.gauge("node_agent_throttled_containers",
                 "Containers whose CPU is throttled or being restored.",
                 loop.controller().held().size());
  families.gauge("node_agent_degraded", "1: the runtime, memory or the journal fails.",
                 loop.is_degraded() ? 1 : 0);
  families.gauge("node_agent_on", "1: switched on, 0: switched off.",
                 loop.controller().is_on() ? 1 : 0);
  families.gauge("node_agent_dry_run", "1: decisions are logged, not carried out.",
                 facts.dry_run ? 1 : 0);
  families.gauge("node_agent_guarded", "1: a guardian releases containers after a crash.",
                 facts.guarded ? 1 : 0);
  families.gauge("node_agent_nri", "1: the runtime's NRI sends starts of containers.",
                 facts.nri ? 1 : 0);
  families.gauge("node_agent_reporting", "1: a stream to an autoscaler is open.",
                 facts.reporting ? 1 : 0);
}

void write_counts(Families& families, const ControlLoop& loop, const AgentFacts& facts) {
  const LoopCounts& counts = loop.counts();
  const HandCounts& hand = loop.hand_counts();
  families.counter("node_agent_samples_total", "Samples of memory, each with a decision.",
                   counts.samples);
  families.counter("node_agent_memory_failures_total", "Samples at which memory could not be read.",
                   counts.memory_failures);
  families.counter("node_agent_lists_total", "Container lists requested from the runtime.",
                   counts.looks);
  families.counter("node_agent_list_failures_total", "Container lists not answered.",
                   counts.look_failures);
  families.family("node_agent_updates_total", MetricType::counter,
                  "Changes of a container's CPU limit and freezer.");
  families.value({{"kind", "throttle"}}, hand.throttles);
  families.value({{"kind", "release"}}, hand.releases);
  families.value({{"kind", "freeze"}}, hand.freezes);
  families.value({{"kind", "thaw"}}, hand.thaws);
  families.value({{"kind", "failed"}}, hand.update_failures);
  families.counter("node_agent_update_seconds_total", "Total time of the updates.",
                   to_seconds(hand.update_latency));
  families.counter("node_agent_reaction_seconds_total",
                   "Total time from samples to the resulting throttles in the kernel.",
                   to_seconds(hand.reaction));
  families.gauge("node_agent_reaction_longest_seconds",
                 "Longest time from a sample to its throttle.", to_seconds(hand.reaction_max));
  families.counter("node_agent_sacrifices_total", "Containers stopped as the last resort.",
                   hand.stops);
  families.counter("node_agent_journal_failures_total", "Writes of the journal that failed.",
                   hand.journal_failures);
  families.counter("node_agent_alarms_total", "Alarms that need an operator.", hand.alarms);
  families.counter("node_agent_exempt_blocked_total",
                   "Samples above the threshold with no container that may be throttled.",
                   counts.exempt_blocked);
  families.family(
      "node_agent_containers_killed_total", MetricType::counter,
      "Containers killed: exit code 137, or any exit after a StopContainer of the agent.");
  families.value({{"cause", "oom"}}, counts.ended_oom);
  families.value({{"cause", "sacrificed"}}, counts.ended_sacrificed);
  families.value({{"cause", "other"}}, counts.ended_killed);
  families.counter("node_agent_evictions_total", "Pods that were probably evicted.",
                   counts.evictions);
  families.counter("node_agent_lease_lapses_total",
                   "Times the agent was paused for longer than its lease.", counts.lapses);
  families.counter("node_agent_births_total", "Containers and sandboxes that were seen to begin.",
                   facts.births.births);
  families.gauge("node_agent_births_expected",
                 "Control groups of containers without a program yet.", facts.births.embryos);
  families.gauge("node_agent_births_watched", "Control groups in which new containers are seen.",
                 facts.births.groups);
  families.counter("node_agent_reports_total", "Reports sent to the autoscaler.", facts.reports);
}

}  // namespace

void write_agent_metrics(Families& families, const ControlLoop& loop, const AgentFacts& facts) {
  write_state(families, loop, facts);
  write_counts(families, loop, facts);
  metrics::write_process_facts(families, facts.started);
}

}  // namespace sluice::node_agent
