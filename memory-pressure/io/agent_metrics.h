#pragma once

#include "common/metrics/families.h"

#include "memory-pressure/io/birth_watch.h"
#include "memory-pressure/io/control_loop.h"
#include <cstdint>

namespace sluice::node_agent {

/// What metrics show beside the loop's state.
struct AgentFacts {
  bool dry_run = false;
  bool guarded = false;  ///< a guardian runs
  BirthCounts births{};
  bool nri = false;           ///< the runtime's NRI sends starts
  std::uint64_t reports = 0;  ///< sent to the autoscaler
  bool reporting = false;     ///< a stream is open
  double started = 0;         ///< Unix seconds
};

/// Everything: `node_agent_*` and `process_*`; no label has
/// unbounded values (README.md lists them).
void write_agent_metrics(metrics::Families& families, const ControlLoop& loop,
                         const AgentFacts& facts);

}  // namespace sluice::node_agent
