#pragma once

#include "common/time/time_point.h"

#include <functional>
#include <memory>

namespace sluice {

/// One action that waits for its time. A timer that is gone runs nothing.
class Timer {
 public:
  using Action = std::function<void()>;

  virtual ~Timer() = default;

  /// Runs `action` from the loop when `wait` has passed, at once if that is negative, in place of
  /// what has waited until now. It may set this timer again, or destroy it.
  virtual void after(Duration wait, Action action) = 0;

  /// The same at `when` by the clock of the loop.
  virtual void at(TimePoint when, Action action) = 0;

  /// What waits does not run.
  virtual void cancel() = 0;
};

/// Time, and the thread in which a program does one thing after the other. Whatever waits and does
/// no socket I/O uses this, so that it also runs in virtual time.
class Loop {
 public:
  virtual ~Loop() = default;

  [[nodiscard]] virtual TimePoint now() const = 0;

  /// Runs `action` in a turn of its own, after all that was posted before. It runs even when the
  /// caller is gone by then: check a Lifetime.
  virtual void post(std::function<void()> action) = 0;

  /// A timer on which nothing waits. The loop outlives it.
  [[nodiscard]] virtual std::unique_ptr<Timer> timer() = 0;
};

}  // namespace sluice
