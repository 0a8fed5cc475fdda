#pragma once

#include "memory-pressure/core/settings.h"
#include "memory-pressure/io/control_loop.h"
#include <string>
#include <string_view>
#include <vector>

namespace sluice::node_agent {

/// The state of the agent beside its loop.
struct StatusFacts {
  const ControlLoop& loop;
  const PolicySettings& policy;
  std::string version;
  std::string node;
  std::string memory_source;
  std::string socket;  ///< of the runtime; empty: not found yet
  bool dry_run = false;
  bool guarded = false;                  ///< a guardian runs
  Duration lease{};                      ///< 0: nothing is ever throttled
  std::vector<std::string> autoscalers;  ///< to which reports go; none: no reports
  bool reporting = false;                ///< a stream is open
  TimePoint started;
  TimePoint now;
};

/// The agent's state as one JSON object: pressure, thresholds, which containers are throttled,
/// since when and why.
[[nodiscard]] std::string status_json(const StatusFacts& facts);

/// The same for people, made of that JSON. Absent text: it is no such JSON.
[[nodiscard]] std::string status_table(std::string_view json);

}  // namespace sluice::node_agent
