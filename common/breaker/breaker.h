#pragma once

#include "common/breaker/wait_list.h"
#include "common/time/time_point.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace sluice::breaker {

/// How many may run, and how many more may wait for their turn (queue-proxy.md 7: a sidecar runs
/// `concurrency` and lets ten times as many wait).
struct BreakerSpec {
  std::int32_t concurrency = 1;   ///< at least 0; 0 lets none run
  std::int32_t queue_depth = 10;  ///< at least 1
};

/// The result of an attempt to enter.
enum class Entry {
  admitted,  ///< runs now; owes one leave()
  queued,    ///< waits; owes nothing until its ticket is admitted
  refused,   ///< the queue is full
};

/// The answer to an attempt to enter. `ticket` names a waiter only when `entry` is queued.
struct Entered {
  Entry entry = Entry::refused;
  Ticket ticket;
};

/// A concurrency limit with a bounded queue, strictly first come first served: a new request never
/// passes a waiter. The reference lets one that arrives in the right instant pass
/// (queue-proxy.md 7); nothing depends on that, and fairness keeps the tail short.
///
/// It resumes no waiter itself: every call that frees a slot returns the tickets it admitted, and
/// those run from that moment. A request waits only while no slot is free.
class Breaker {
 public:
  /// A spec outside its ranges is a broken invariant, as it is in the reference.
  explicit Breaker(const BreakerSpec& spec);

  /// One more request arrives. `now` is kept as the moment it joined the queue.
  [[nodiscard]] Entered enter(TimePoint now);

  /// Takes a slot only if one is free at this moment; true owes one leave().
  [[nodiscard]] bool reserve();

  /// One that ran has ended. Returns the waiter that runs in its place, if any. Leaving without
  /// having been admitted is a broken invariant.
  [[nodiscard]] std::optional<Ticket> leave();

  /// A waiter gives up: true, and its place is free. False when `ticket` does not wait, because it
  /// was admitted (it then owes its leave()), has expired or was cancelled before.
  bool cancel(Ticket ticket);

  /// When the request that has waited longest joined; nothing when none waits.
  [[nodiscard]] std::optional<TimePoint> oldest_waiting() const;

  /// Puts out the longest waiting if it has waited `age_max` or more, and returns it. One at a
  /// time: call until it returns nothing.
  [[nodiscard]] std::optional<Ticket> expire(TimePoint now, Duration age_max);

  [[nodiscard]] std::int32_t running() const { return running_; }

  [[nodiscard]] std::int32_t waiting() const { return waiting_.size(); }

  [[nodiscard]] std::int32_t capacity() const { return capacity_; }

  [[nodiscard]] std::int32_t queue_depth() const { return queue_depth_; }

 private:
  struct Nothing {};

  [[nodiscard]] std::optional<Ticket> admit_next();

  std::int32_t capacity_;
  std::int32_t queue_depth_;
  std::int32_t running_ = 0;
  WaitList<Nothing> waiting_;
};

}  // namespace sluice::breaker
