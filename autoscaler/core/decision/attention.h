#pragma once

#include "autoscaler/core/decision/saved_state.h"
#include "common/time/time_point.h"

#include <optional>

namespace sluice::autoscaler {

/// How much of the time between evaluations a scaler has observed. They run every 2 s; when the
/// clock jumps or the process is paused, the time between is unobserved and proves nothing
/// (autoscaler.md 16.2, 16.3).
class Attention {
 public:
  /// `settled`: no data is needed before the first lowering.
  Attention(TimePoint now, bool settled) : evaluated_(now), settled_(settled) {}

  /// Begins an evaluation. Returns how far the clock has moved unobserved since the last one: 0
  /// ordinarily, negative after a step back; ages must be moved by so much to stay what they were.
  /// A merely slow rhythm is soon distinguished from a jump.
  Duration evaluate(TimePoint now, bool activator_connected, Duration stable_window);

  /// Ends it: whether it had data.
  void conclude(bool valid, Duration stable_window);

  /// Replicas may be lowered: since the last gap there was a stable window of evaluations that had
  /// data.
  [[nodiscard]] bool settled() const { return settled_; }

  /// Of that window, what is still missing.
  [[nodiscard]] Duration missing(Duration stable_window) const { return stable_window - known_; }

  /// For a manual order, which needs no data.
  void settle() { settled_ = true; }

  /// An activator, or all of them, were absent for long until less than `length` ago: missing
  /// reports mean nothing yet.
  [[nodiscard]] bool resumed_within(Duration length, TimePoint now) const {
    return resumed_ && now - *resumed_ < length;
  }

  /// An activator was connected to report waiting requests, at the last evaluation.
  [[nodiscard]] bool activator_connected() const { return !absent_since_; }

  /// What was observed.
  [[nodiscard]] SavedAttention saved() const;

  /// What another observed counts as if it had been observed here; the time between its last
  /// evaluation and the next one here is judged like any other.
  void restore(const SavedAttention& saved);

 private:
  void follow_activator(TimePoint now, bool connected);

  TimePoint evaluated_;
  Duration step_{0};   // that led to the present evaluation, as far as it was observed
  Duration usual_{0};  // the longest of late, fading
  std::optional<TimePoint> absent_since_;  // the activator
  std::optional<TimePoint> resumed_;
  Duration known_{0};
  bool had_data_ = false;  // the last evaluation
  bool settled_;
};

}  // namespace sluice::autoscaler
