#pragma once

#include "common/loop/loop.h"

#include "platform/process/cause.h"
#include "platform/process/listeners.h"
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace sluice::local {

/// Looks where a program listens for as long as it starts, and finds why it is not ready.
class StartWatch {
 public:
  /// `worth_a_line` gets a cause, once for each kind: the program listens in the wrong place, or
  /// has been silent for ten seconds. `settled` gets it once the program has settled in the wrong
  /// place. Both are called from the loop, which outlives the watch.
  StartWatch(Loop& loop, std::function<void(const Cause&)> worth_a_line,
             std::function<void(const Cause&)> settled);

  /// The program runs since now and should listen as `wanted` says; where it does is looked for
  /// with `find` each `interval`.
  void begin(std::function<Listening()> find, const StartSight& wanted, Duration interval);

  /// Its startup probe has passed.
  void started() {
    sight_.in_startup = false;
    last_failure_.clear();
  }

  /// Why its probe did not pass this time; empty: it did.
  void probe_answered(const std::string& why) { last_failure_ = why; }

  /// It is ready, or has ended.
  void end() { timer_->cancel(); }

  /// Why it is not ready yet, by the last look.
  [[nodiscard]] Cause waits_for() const;

  /// Why it was not ready within `limit`: looks once more.
  [[nodiscard]] Cause timed_out(Duration limit);

 private:
  void look();
  void see();
  void tell();

  Loop& loop_;
  std::function<void(const Cause&)> worth_a_line_;
  std::function<void(const Cause&)> on_settled_;
  std::unique_ptr<Timer> timer_;
  std::function<Listening()> find_;
  Duration interval_{0};
  TimePoint begun_{};
  StartSight sight_;
  std::string last_failure_;  // of the probe; not in the sight, for it may differ each time
  Settling settling_;
  std::optional<CauseKind> told_;
};

}  // namespace sluice::local
