#pragma once

#include "autoscaler/core/decision/revision_scaler.h"
#include "tests/unit/autoscaler/core/fixtures.h"

#include <cstdint>
#include <string>
#include <vector>

namespace sluice::autoscaler {

/// One revision on one machine in virtual time: the front door sees every request and reports each
/// second, replicas become ready `start_time` after they are wanted, sidecars are scraped each
/// second, and the scaler is asked every 2 s and when it is poked. Prints a line whenever something
/// changes:
///   "62s active want 3 ready 5 panic: held at 5 by panic for 00:58"
class RevisionWorld {
 public:
  explicit RevisionWorld(const ScalingSpec& spec, std::int64_t start_time = 1);

  /// Requests in flight from the present second on.
  RevisionWorld& load(double concurrency);

  /// Plays whole seconds up to and including `second`.
  RevisionWorld& until(std::int64_t second);

  /// There are no reports while muted.
  RevisionWorld& mute(bool muted);

  /// No replica becomes ready any more.
  RevisionWorld& break_starts();

  RevisionScaler& scaler() { return scaler_; }

  [[nodiscard]] TimePoint now() const { return at(second_); }

  /// The lines since the last call.
  std::string lines();

 private:
  void play_second();
  void evaluate(Trigger trigger);
  void follow(std::int32_t want);
  [[nodiscard]] std::int32_t ready() const;

  RevisionScaler scaler_;
  std::int64_t start_time_;
  std::int64_t second_ = 0;
  double load_ = 0;
  bool known_to_front_door_ = false;
  double first_report_ = 0;  // taken off the report that follows the early stat
  bool muted_ = false;
  bool broken_ = false;
  std::vector<std::int64_t> ready_at_;  // one per replica
  std::string state_;
  std::string lines_;
};

}  // namespace sluice::autoscaler
