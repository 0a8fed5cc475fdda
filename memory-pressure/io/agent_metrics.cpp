#include "memory-pressure/io/agent_metrics.h"

#include "common/metrics/exposition.h"
#include "common/net/server/process_facts.h"

#include <limits>

namespace sluice::node_agent {
namespace {

using metrics::Exposition;
using metrics::label_text;
using metrics::MetricType;

void gauge(Exposition& text, const char* name, const char* help, double value) {
  text.family(name, MetricType::gauge, help);
  text.value({}, value);
}

void counter(Exposition& text, const char* name, const char* help, std::uint64_t value) {
  text.family(name, MetricType::counter, help);
  text.count({}, value);
}

void write_state(Exposition& text, const ControlLoop& loop, const AgentFacts& facts) {
  const Observation& seen = loop.controller().seen();
  const Decision& decision = loop.controller().decision();
  gauge(text, "node_agent_pressure", "0 ok, 1 high, 2 critical.",
        static_cast<double>(decision.pressure));
  if (seen.memory) {
    gauge(text, "node_agent_memory_capacity_bytes",
          "Memory capacity of the node, or of the configured group.",
          static_cast<double>(seen.memory->capacity));
    gauge(text, "node_agent_memory_used_bytes", "Memory in use that cannot be reclaimed.",
          static_cast<double>(seen.memory->used));
  }
  gauge(text, "node_agent_upper_ratio", "Share of capacity above which the agent throttles now.",
        decision.upper);
  gauge(text, "node_agent_growth_bytes_per_second", "Memory growth of all containers.",
        static_cast<double>(decision.growth_per_second));
  gauge(text, "node_agent_admit_bytes",
        "Largest memory claim that may start; 0: none; +Inf: no gate.",
        decision.admit_bytes == kAdmitAnything ? std::numeric_limits<double>::infinity()
                                               : static_cast<double>(decision.admit_bytes));
  gauge(text, "node_agent_containers", "Running containers that are watched.",
        static_cast<double>(seen.containers.size()));
  gauge(text, "node_agent_throttled_containers",
        "Containers whose CPU is throttled or being restored.",
        static_cast<double>(loop.controller().held().size()));
  gauge(text, "node_agent_degraded", "1: the runtime, memory or the journal fails.",
        loop.is_degraded() ? 1 : 0);
  gauge(text, "node_agent_on", "1: switched on, 0: switched off.",
        loop.controller().is_on() ? 1 : 0);
  gauge(text, "node_agent_dry_run", "1: decisions are logged, not carried out.",
        facts.dry_run ? 1 : 0);
  gauge(text, "node_agent_guarded", "1: a guardian restores CPU quotas after a crash.",
        facts.guarded ? 1 : 0);
  gauge(text, "node_agent_reporting", "1: a stream to an autoscaler is open.",
        facts.reports_to_anyone ? 1 : 0);
}

void write_counts(Exposition& text, const ControlLoop& loop, const AgentFacts& facts) {
  const LoopCounts& counts = loop.counts();
  const HandCounts& hand = loop.hand_counts();
  counter(text, "node_agent_samples_total", "Samples of memory, each with a decision.",
          counts.samples);
  counter(text, "node_agent_memory_failures_total", "Samples at which memory could not be read.",
          counts.memory_failures);
  counter(text, "node_agent_lists_total", "Container lists requested from the runtime.",
          counts.looks);
  counter(text, "node_agent_list_failures_total", "Container lists not answered.",
          counts.look_failures);
  text.family("node_agent_updates_total", MetricType::counter, "Updates of a container's CPU.");
  text.count(label_text({{"kind", "throttle"}}), hand.throttles);
  text.count(label_text({{"kind", "release"}}), hand.releases);
  text.count(label_text({{"kind", "failed"}}), hand.update_failures);
  text.family("node_agent_update_seconds_total", MetricType::counter, "Total time of the updates.");
  text.value({}, to_seconds(hand.update_latency));
  text.family("node_agent_reaction_seconds_total", MetricType::counter,
              "Total time from samples to the resulting throttles in the kernel.");
  text.value({}, to_seconds(hand.reaction));
  gauge(text, "node_agent_reaction_longest_seconds", "Longest time from a sample to its throttle.",
        to_seconds(hand.reaction_max));
  counter(text, "node_agent_sacrifices_total", "Containers stopped as the last resort.",
          hand.stops);
  counter(text, "node_agent_journal_failures_total", "Writes of the journal that failed.",
          hand.journal_failures);
  counter(text, "node_agent_alarms_total", "Alarms that need an operator.", hand.alarms);
  counter(text, "node_agent_exempt_blocked_total",
          "Samples above the threshold with no container that may be throttled.",
          counts.exempt_blocked);
  text.family("node_agent_containers_killed_total", MetricType::counter,
              "Containers killed: exit code 137, or any exit after a StopContainer of the agent.");
  text.count(label_text({{"cause", "oom"}}), counts.ended_oom);
  text.count(label_text({{"cause", "sacrificed"}}), counts.ended_sacrificed);
  text.count(label_text({{"cause", "other"}}), counts.ended_killed);
  counter(text, "node_agent_evictions_total", "Pods that were probably evicted.", counts.evictions);
  counter(text, "node_agent_lease_lapses_total",
          "Times the agent was paused for longer than its lease.", counts.lapses);
  counter(text, "node_agent_reports_total", "Reports sent to the autoscaler.", facts.reports);
}

}  // namespace

void write_agent_metrics(std::string& out, const ControlLoop& loop, const AgentFacts& facts) {
  Exposition text{out};
  write_state(text, loop, facts);
  write_counts(text, loop, facts);
  metrics::write_process_facts(text, facts.started);
}

}  // namespace sluice::node_agent
