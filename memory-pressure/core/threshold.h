#pragma once

#include "memory-pressure/core/node.h"
#include "memory-pressure/core/settings.h"
#include <optional>

namespace sluice::node_agent {

/// The usage at which to act: U, drawn nearer by fast growth, stalls and evictions, and let rise
/// while nothing stalls above it (memory-pressure.md 5.1).
class Threshold {
 public:
  explicit Threshold(const PolicySettings& settings) : settings_(settings) {}

  /// Takes what is seen at `now`, the policy's own time. `growth` is that of all containers
  /// together in bytes per second, `evicted` whether the kubelet has evicted since the last call.
  void update(const NodeMemory& memory, double growth, bool evicted, TimePoint now);

  /// U_eff as a share of capacity.
  [[nodiscard]] double upper() const { return upper_; }

  /// Whether stalls require action at once, whatever the usage is.
  [[nodiscard]] bool is_stalling() const { return stalling_; }

 private:
  void note_quiet(const NodeMemory& memory, double usage, TimePoint now);

  PolicySettings settings_;
  double upper_ = settings_.upper;
  double raised_ = 0;
  bool stalling_ = false;
  std::optional<TimePoint> quiet_since_;
  std::optional<TimePoint> raised_at_;
  std::optional<TimePoint> evicted_at_;
};

/// One reaction: the time from a sample to a quota that governs.
[[nodiscard]] Duration reaction(const PolicySettings& settings, double usage);

}  // namespace sluice::node_agent
