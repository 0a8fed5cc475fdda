#pragma once

#include "autoscaler/core/decision/decision_record.h"
#include "autoscaler/core/decision/saved_state.h"
#include "autoscaler/core/decision/window_max.h"
#include "common/scaling/scaling_spec.h"
#include "common/time/time_point.h"

#include <cstdint>
#include <optional>

namespace sluice::autoscaler {

/// What a decision is made from.
struct Observation {
  double stable = 0;                  ///< average over the stable window
  double panic = 0;                   ///< average over the panic window
  bool has_data = true;               ///< false: nothing was measured, no decision is possible
  std::optional<std::int32_t> ready;  ///< ready pods; absent: they could not be counted
};

/// The answer, with the intermediate numbers that explain it.
struct Decision {
  bool valid = false;  ///< false: ignore `desired` and `excess_burst_capacity`, both 0
  std::int32_t desired = 0;
  std::int32_t excess_burst_capacity = 0;
  Mode mode = Mode::stable;
  Bound bound_by = Bound::none;
  std::int32_t wanted_stable = 0;
  std::int32_t wanted_panic = 0;
  std::int32_t up_limit = 0;
  std::int32_t down_limit = 0;
  bool breach = false;
};

/// How many pods a revision should have, from its windows and its ready pods (autoscaler.md 3).
/// Minimum, maximum and the way to zero are not its business: bounded_scale and the zero scaler
/// come after it.
class Decider {
 public:
  /// `ready_pods` at creation: more than one starts in panic, which holds them for a stable window,
  /// since nothing is known yet about what they carry.
  Decider(const DeciderSpec& spec, std::int32_t ready_pods, TimePoint now);

  [[nodiscard]] Decision decide(const Observation& seen, TimePoint now);

  /// Replaces the parameters. Panic and the delay window survive; a changed delay has no effect on
  /// the window made at creation.
  void update(const DeciderSpec& spec) { spec_ = spec; }

  /// The clock has stepped by `by` to `now`: panic keeps its age, the delay window its maximum.
  void shift(Duration by, TimePoint now);

  [[nodiscard]] const DeciderSpec& spec() const { return spec_; }

  [[nodiscard]] Mode mode() const { return panic_since_ ? Mode::panic : Mode::stable; }

  /// When the present panic began; absent outside panic.
  [[nodiscard]] std::optional<TimePoint> panic_entered() const { return panic_entered_; }

  /// The instant after which panic may end, unless the threshold is passed again.
  [[nodiscard]] std::optional<TimePoint> panic_until() const;

  /// Panic and delay.
  [[nodiscard]] SavedDecider saved() const;

  /// Continues where the other left off.
  void restore(const SavedDecider& saved);

 private:
  void follow_panic(bool breach, TimePoint now);
  [[nodiscard]] std::int32_t excess_burst_capacity(std::int32_t ready, double panic) const;

  DeciderSpec spec_;
  // From panic_since_ until a whole stable window has passed without a breach, desired pods may
  // rise and never fall. peak_pods_ is that high-water mark; it keeps the count at creation outside
  // panic.
  std::optional<TimePoint> panic_since_;
  std::optional<TimePoint> panic_entered_;
  std::int32_t peak_pods_;
  std::optional<WindowMax> delay_;
};

/// The last valid answer of a decider and when a new one is due (autoscaler.md 3, end).
class DeciderStatus {
 public:
  /// Nothing decided yet: desired is -1, the burst capacity a guess from the initial scale.
  explicit DeciderStatus(const DeciderSpec& spec);

  /// Takes over a decision; true when the owner must act: the number or the sign of the burst
  /// capacity changed. Invalid decisions change nothing.
  bool take(const Decision& decision);

  /// A pushed stat needs an evaluation now: requests while the answer is exactly 0.
  [[nodiscard]] bool pokes(double concurrency) const { return concurrency != 0 && desired_ == 0; }

  /// Overrides the number, for a person's command.
  void set_desired(std::int32_t desired) { desired_ = desired; }

  /// The last answer of another decider.
  void restore(std::int32_t desired, std::int32_t excess_burst_capacity) {
    desired_ = desired;
    excess_burst_capacity_ = excess_burst_capacity;
  }

  [[nodiscard]] std::int32_t desired() const { return desired_; }

  [[nodiscard]] std::int32_t excess_burst_capacity() const { return excess_burst_capacity_; }

 private:
  std::int32_t desired_ = -1;
  std::int32_t excess_burst_capacity_;
};

/// `desired` within `bounds`; the minimum is looked at first (autoscaler.md 8.3, step 3).
[[nodiscard]] std::int32_t bounded_scale(std::int32_t desired, const Bounds& bounds);

/// Size of the activator subset of a revision (autoscaler.md 3.3), at least 2.
[[nodiscard]] std::int32_t activator_count(std::int32_t ready, double total_value,
                                           double target_burst_capacity, double activator_capacity);

}  // namespace sluice::autoscaler
