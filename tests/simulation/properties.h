#pragma once

#include "autoscaler/core/decision/revision_scaler.h"
#include "common/scaling/scaling_spec.h"
#include "common/time/time_point.h"

#include "programs/sluice/simulation/world.h"
#include <cstdint>
#include <deque>
#include <optional>
#include <string>

namespace sluice::simulation {

/// Watches the decisions of one revision and names the first property they break. It knows the
/// rules and the records, and nothing of how the core keeps its state: every limit is recomputed
/// from the averages and the ready pods of the record, every memory from the history of records.
class Properties {
 public:
  /// `ready` pods at `start`, when the scaler is made.
  Properties(const autoscaler::ScalingSpec& spec, std::int32_t ready, TimePoint start);

  /// The property that this evaluation breaks, in words; empty: none.
  [[nodiscard]] std::string check(const autoscaler::ScaleState& state, const Circumstances& world);

 private:
  // One valid decision as the rules have it.
  struct Answer {
    std::int64_t slot = 0;       // of the delay window
    std::int32_t rated = 0;      // stable answer within the rates, before any memory
    std::int32_t undelayed = 0;  // with the panic hold, before the delay
  };

  struct Limits {
    double up = 0;
    double down = 0;
    std::int32_t stable = 0;  // within the rates, and raised to the activation scale
    std::int32_t panic = 0;
    bool breach = false;
  };

  void follow_clock(TimePoint now);
  [[nodiscard]] Limits limits(const autoscaler::DecisionRecord& record) const;
  [[nodiscard]] std::string check_bounds(const autoscaler::ScaleState& state) const;
  [[nodiscard]] std::string check_zero(const autoscaler::ScaleState& state,
                                       const Circumstances& world);
  [[nodiscard]] std::string check_rates(const autoscaler::DecisionRecord& record,
                                        const Limits& limits) const;
  [[nodiscard]] std::string check_panic(const autoscaler::DecisionRecord& record,
                                        const Limits& limits);
  [[nodiscard]] std::string check_delay(const autoscaler::DecisionRecord& record,
                                        const Limits& limits);

  autoscaler::ScalingSpec spec_;
  TimePoint evaluated_;  // last
  autoscaler::Activity activity_ = autoscaler::Activity::inactive;
  TimePoint active_since_;  // means something while active
  std::int32_t desired_;    // the last valid answer; before one, the ready pods at the start
  bool known_ = false;      // there has been a valid answer
  bool panicking_;
  std::int32_t peak_;                  // the most that was wanted in this panic
  std::optional<TimePoint> breached_;  // when the threshold was last passed
  std::deque<Answer> answers_;         // of the last delay
};

/// A decision to the last bit, one line: equal lines are equal decisions.
[[nodiscard]] std::string printed(const autoscaler::ScaleState& state);

}  // namespace sluice::simulation
