#pragma once

#include "common/base/lifetime.h"
#include "common/log/log.h"
#include "common/loop/loop.h"

#include "memory-pressure/core/controller.h"
#include "memory-pressure/io/container_view.h"
#include "memory-pressure/io/hand.h"
#include "memory-pressure/io/journal.h"
#include "memory-pressure/io/runtime.h"
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace sluice::node_agent {

/// How often what happened, for metrics.
struct LoopCounts {
  std::uint64_t samples = 0;
  std::uint64_t memory_failures = 0;
  std::uint64_t looks = 0;
  std::uint64_t look_failures = 0;
  std::uint64_t exempt_blocked =
      0;  ///< samples above the threshold with no container to throttle (row 6)
  std::uint64_t ended_oom = 0;
  std::uint64_t ended_sacrificed = 0;
  std::uint64_t ended_killed = 0;
  std::uint64_t evictions = 0;  ///< pods whose end looks like one (row 66)
  std::uint64_t lapses = 0;     ///< of our own lease
};

/// Samples, lets the controller decide, has it carried out, again. Finds the runtime first, and
/// hands what an earlier process left throttled to the controller.
class ControlLoop {
 public:
  struct Parts {
    Loop& loop;
    const log::Logger& log;
    std::function<std::optional<NodeMemory>()> memory;  ///< empty when only to restore
    Runtime& runtime;
    ContainerView& containers;
    Journal* journal;  ///< absent in a dry run
  };

  struct Options {
    MemoryController::Options controller;
    Duration lease{};  ///< for which a record vouches for what the journal lists; 0: none does
  };

  /// All parts outlive this.
  ControlLoop(const Parts& parts, const Options& options);

  /// Finds the runtime, recovers, and begins to sample. `fatal` gets a problem that does not
  /// pass by itself; everything else is tried again, 100 ms to 5 s apart.
  void start(std::function<void(const Problem&)> fatal);

  /// Samples now, out of turn: a wake-up, never more often than the fast rate.
  void wake();

  /// Switches the feature off: restores all quotas and stays idle; or on again (row 62).
  void switch_on(bool on);

  /// Restores all quotas, once recovered; `done` gets whether it could within `limit`. No new
  /// throttle from now on.
  void restore(Duration limit, std::function<void(bool restored)> done);

  /// Runs after each decision, and when a container was throttled or released.
  void on_decided(std::function<void()> decided) { decided_ = std::move(decided); }

  /// Runs once, when the runtime was found and before anything is decided.
  void on_recovered(std::function<void()> recovered) { told_recovered_ = std::move(recovered); }

  /// Asked before each decision: whether the agent was paused for so long that the guardian may
  /// have given back what it holds, and has ended. Then the loop starts again from the journal.
  void on_lapse_check(std::function<bool()> lapsed) { lapsed_ = std::move(lapsed); }

  [[nodiscard]] bool is_recovered() const { return recovered_; }

  /// Something that we need does not answer.
  [[nodiscard]] bool is_degraded() const;

  /// Why, on one line; empty when it is not.
  [[nodiscard]] std::string trouble() const;

  [[nodiscard]] const MemoryController& controller() const { return controller_; }

  [[nodiscard]] MemoryController& controller() { return controller_; }

  [[nodiscard]] const std::optional<cri::Version>& runtime() const { return runtime_; }

  [[nodiscard]] const LoopCounts& counts() const { return counts_; }

  [[nodiscard]] const HandCounts& hand_counts() const { return hand_.counts(); }

 private:
  void connect();
  void recover_journal();
  void restart();
  void look_at_birth();
  void look();
  void look_after(Duration wait);
  void tick();
  [[nodiscard]] Observation observe();
  void act(Observation seen);
  void plan_next();
  void check_restored();
  void note_changes();
  void note_dry_run(const std::vector<HeldThrottle>& before);
  void note_blocked();
  void note_end(const Container& container, const cri::ContainerStatus& status);
  void note_pod_end(const std::string& pod_uid);
  void note_eviction(const std::string& pod_uid);

  Parts parts_;
  bool dry_run_;
  MemoryController controller_;
  Hand hand_;
  std::unique_ptr<Timer> timer_;       // of the next tick
  std::unique_ptr<Timer> retry_;       // until the runtime is asked again
  std::unique_ptr<Timer> look_timer_;  // until a look is due
  std::function<void(const Problem&)> fatal_;
  std::function<void()> decided_;
  std::function<void()> told_recovered_;
  std::function<bool()> lapsed_;
  std::function<void(bool)> restored_;
  std::optional<cri::Version> runtime_;
  std::string runtime_problem_;
  LoopCounts counts_;
  TimePoint restore_until_;
  TimePoint last_tick_;
  std::optional<TimePoint> blocked_noted_;
  std::uint32_t failures_ = 0;  // of the runtime, in a row
  bool recovered_ = false;
  bool look_due_ = false;
  bool looking_ = false;
  bool ticking_ = false;
  bool again_ = false;  // what was decided in this tick no longer fits
  Lifetime alive_;
};

}  // namespace sluice::node_agent
