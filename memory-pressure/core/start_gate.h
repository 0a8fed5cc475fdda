#pragma once

#include "common/messages/start_gate.h"
#include "common/time/time_point.h"

#include "memory-pressure/core/own_time.h"
#include "memory-pressure/core/policy.h"
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

namespace sluice::node_agent {

/// The start gate of a starter that sees every look at its node (memory-pressure.md 5.3.1). Claims
/// add up from the grant on, not from when their memory shows up, so that many may start in one
/// turn. One is always let in on an empty node. The gate over the reports of many nodes is
/// autoscaler/placement/core/node_gates.h.
class StartGate {
 public:
  /// Until the first report, everything may start.
  StartGate() : time_(kStartWithin) {}

  /// A look at the node. `tight`: one start until the next.
  void report(const Decision& decision, bool tight);

  /// Whether `id` with `claim` bytes may start now; if so its claim is reserved. After a no: ask
  /// again after the next look. An id that holds a grant has it already.
  [[nodiscard]] GateAnswer ask(const std::string& id, std::int64_t claim, TimePoint now);

  /// Looks count it now, or it ended: its claim is given back.
  void settled(const std::string& id) { grants_.erase(id); }

 private:
  struct Grant {
    std::int64_t claim = 0;
    TimePoint until;
  };

  /// Granted but not seen since: the claim is given back.
  static constexpr Duration kStartWithin = std::chrono::seconds{60};

  [[nodiscard]] bool admits(std::int64_t claim) const;
  [[nodiscard]] std::int64_t room_left() const;

  OwnTime time_;
  std::map<std::string, Grant> grants_;
  std::int64_t room_ = kAdmitAnything;  // bytes
  std::size_t admitted_ = 0;            // since the last look
  bool empty_ = true;
  bool tight_ = false;
};

}  // namespace sluice::node_agent
