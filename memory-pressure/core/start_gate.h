#pragma once

#include "common/messages/start_gate.h"
#include "common/time/time_point.h"

#include "memory-pressure/core/own_time.h"
#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace sluice::node_agent {

/// Limits of a start gate.
struct StartGateSettings {
  /// Between two admissions.
  Duration spacing = kStartSpacing;
  /// How long a running container's claim stays reserved when nobody says that a report counts it.
  Duration settle = kClaimKept;
  /// Granted but never started: its claim is given back.
  Duration start_within = std::chrono::seconds{60};
};

/// The starter's half of the start gate: grants starts on one node against its `admit_bytes`
/// (memory-pressure.md 5.3.1, protocols.md 4). A claim is reserved from the grant on, not when its
/// memory shows up. One start is always granted on an empty node.
class StartGate {
 public:
  explicit StartGate(const StartGateSettings& settings = {})
      : settings_(settings), time_(settings.start_within) {}

  /// The node's newest word. `running`: how many containers that are no system programs it counts.
  void report(std::int64_t admit_bytes, std::size_t running);

  /// Whether `id` with `claim` bytes may start now; if so its claim is reserved. Ask again next
  /// tick after a no. An id that holds a grant has it already.
  [[nodiscard]] bool admit(const std::string& id, std::int64_t claim, TimePoint now);

  /// It runs: the claim is given back `settle` later.
  void started(const std::string& id, TimePoint now);

  /// Reports count it now, or it ended: the claim is given back at once.
  void settled(const std::string& id) { grants_.erase(id); }

  /// Bytes granted that reports do not show yet.
  [[nodiscard]] std::int64_t reserved() const;

 private:
  struct Grant {
    std::int64_t claim = 0;
    TimePoint until;
  };

  void expire(TimePoint now);

  StartGateSettings settings_;
  OwnTime time_;
  std::map<std::string, Grant> grants_;
  std::int64_t admit_bytes_ = 0;
  std::optional<std::size_t> running_;  ///< absent: no report yet
  std::optional<TimePoint> admitted_at_;
};

}  // namespace sluice::node_agent
