#pragma once

#include "autoscaler/node-agent/core/settings.h"
#include "autoscaler/node-agent/io/control_loop.h"

#include <string>
#include <string_view>

namespace sluice::node_agent {

/// What the agent knows of itself beside its loop.
struct StatusFacts {
  const ControlLoop& loop;
  const PolicySettings& policy;
  std::string version;
  std::string node;
  std::string memory_source;
  std::string socket;  ///< of the runtime; empty: not found yet
  bool dry_run = false;
  TimePoint now;
};

/// The agent's state as one JSON object: pressure, thresholds, who is throttled, since when and
/// why.
[[nodiscard]] std::string status_json(const StatusFacts& facts);

/// The same for people, made of that JSON. Absent text: it is no such JSON.
[[nodiscard]] std::string status_table(std::string_view json);

/// `ok`, `high` or `critical`.
[[nodiscard]] std::string_view name_of(Pressure pressure);

}  // namespace sluice::node_agent
