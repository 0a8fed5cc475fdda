#pragma once

#include "common/time/time_point.h"

#include <cstdint>
#include <optional>

namespace sluice::local {

/// The waits between failed starts of a revision (one-machine.md 5.4): 0.5 s, 1, 2, 4 … 30 s. The
/// count clears after 60 s ready. From the third failure the service is failing.
class StartBackoff {
 public:
  /// A start failed, or a ready replica exited (5.5: same waits, `counts` false: it never makes the
  /// service failing).
  void failed(TimePoint now, bool counts = true);

  /// A replica of the revision became ready.
  void became_ready(TimePoint now);

  /// No replica of the revision is ready any more.
  void no_longer_ready();

  /// Forgets everything: the spec changed.
  void clear();

  /// Lets time pass: clears the count after 60 s ready.
  void tick(TimePoint now);

  [[nodiscard]] bool may_start(TimePoint now) const { return now >= retry_at_; }

  /// When the next try may begin; in the past when it may now.
  [[nodiscard]] TimePoint retry_at() const { return retry_at_; }

  /// The wait left, never negative.
  [[nodiscard]] Duration wait_left(TimePoint now) const;

  /// Three starts or more failed and no replica is ready.
  [[nodiscard]] bool failing() const { return failures_ >= kFailingAfter && !ready_since_; }

  [[nodiscard]] std::uint32_t failures() const { return failures_; }

  static constexpr std::uint32_t kFailingAfter = 3;
  static constexpr Duration kFirstWait = std::chrono::milliseconds{500};
  static constexpr Duration kLongestWait = std::chrono::seconds{30};
  static constexpr Duration kClearedAfter = std::chrono::seconds{60};

 private:
  std::uint32_t failures_ = 0;  // failed starts that count
  std::uint32_t waits_ = 0;     // steps of the wait, also for exits after ready
  TimePoint retry_at_{};
  std::optional<TimePoint> ready_since_;
};

}  // namespace sluice::local
