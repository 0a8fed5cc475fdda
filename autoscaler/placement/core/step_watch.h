#pragma once

#include "autoscaler/placement/core/move_view.h"
#include "common/time/time_point.h"

#include <cstdint>
#include <optional>
#include <string>

namespace sluice::placement {

/// How long a step of a shift is watched, unless its first requests decide earlier.
inline constexpr Duration kShiftHold = std::chrono::seconds{2};

/// Requests at the new place that decide over a step.
inline constexpr std::int64_t kFirstRequests = 20;

/// Of the requests at the new place, those that may fail beyond the share that fails at the old:
/// one in this many.
inline constexpr std::int64_t kExcessDivisor = 10;

/// In units of the hold: when a step without a result is given up.
inline constexpr std::int64_t kShiftPatience = 5;

/// Watches one step of a shift: the requests that end at both places from its begin on.
class StepWatch {
 public:
  enum class Verdict : std::uint8_t {
    open,
    passed,
    failed,   ///< more requests fail at the new place than at the old
    overdue,  ///< nothing was decided in time
  };

  explicit StepWatch(Duration hold = kShiftHold) : hold_{hold} {}

  /// The tallies of both places when the shift begins; of the old one it is the measure while its
  /// requests in a step are none.
  void begin_shift(const Tally& from, const Tally& to);

  void begin_step(const Tally& from, const Tally& to, Duration at);

  /// A step has begun and no verdict on it was given.
  [[nodiscard]] bool watching() const { return began_.has_value(); }

  /// `open`: replicas of the step take requests, all of them. `quiet`: there have been no requests
  /// for the hold.
  [[nodiscard]] Verdict look(const Tally& from, const Tally& to, bool open, bool quiet,
                             Duration at);

  /// "4 of 20 requests failed at slow, 0 of 31 at fast", of the last look.
  [[nodiscard]] std::string words(const std::string& from, const std::string& to) const;

 private:
  [[nodiscard]] bool fails(std::int64_t requests) const;

  Duration hold_;
  Tally shift_from_{};
  Tally step_from_{};
  Tally step_to_{};
  std::optional<Duration> began_{};
  Tally old_{};  // of the last look: at the old place
  Tally new_{};  // and at the new
};

}  // namespace sluice::placement
