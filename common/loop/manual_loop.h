#pragma once

#include "common/loop/loop.h"
#include "common/time/time_point.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

namespace sluice {

/// Virtual time: actions run in the order of their times, and those of one instant in the order in
/// which they were asked for. It moves in step() and run_for() only.
class ManualTime {
 public:
  explicit ManualTime(TimePoint start = TimePoint{std::chrono::seconds{1'700'000'000}})
      : now_{start} {}

  [[nodiscard]] TimePoint now() const { return now_; }

  void after(Duration wait, std::function<void()> action);

  /// Runs the next action. False when there is none before `end`: then the time is `end`.
  bool step(TimePoint end);

  /// So much time passes in which nothing runs: what falls into it runs afterwards, as in a program
  /// that was stopped.
  void skip(Duration length);

  /// Runs everything that falls into the next `length`, and nothing later.
  void run_for(Duration length);

 private:
  struct Event {
    TimePoint at;
    std::uint64_t order = 0;
    std::function<void()> action;
  };

  // A heap: the earliest is in front.
  [[nodiscard]] static bool later(const Event& a, const Event& b) {
    return a.at != b.at ? a.at > b.at : a.order > b.order;
  }

  TimePoint now_;
  std::vector<Event> events_;
  std::uint64_t order_ = 0;
};

/// The loop of one program in virtual time. Several programs share one time, and the clock of each
/// may be wrong.
class ManualLoop final : public Loop {
 public:
  /// `time` outlives this.
  explicit ManualLoop(ManualTime& time) : time_{time} {}

  [[nodiscard]] TimePoint now() const override { return time_.now() + offset_; }

  void post(std::function<void()> action) override;
  [[nodiscard]] std::unique_ptr<Timer> timer() override;

  /// A step of the clock. What waits for a time that has passed by then runs at once; all else
  /// continues waiting for as long as it would have.
  void step(Duration by);

 private:
  class At;

  ManualTime& time_;
  Duration offset_{0};
  std::vector<At*> timers_;  // in the order they were made
};

}  // namespace sluice
