#pragma once

#include "common/loop/manual_loop.h"
#include "common/time/time_point.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <random>
#include <utility>

namespace sluice::simulation {

/// A range that a duration is drawn from, evenly.
struct Between {
  Duration from{0};
  Duration to{0};
};

/// Virtual time, and everything that is left to chance. Equal seeds play equal runs: events come in
/// the order of their times, and those of one instant in the order they were asked for.
class Timeline {
 public:
  explicit Timeline(std::uint64_t seed) : random_(seed) {}

  /// True time. The clock of a program may show another one.
  [[nodiscard]] TimePoint now() const { return time_.now(); }

  [[nodiscard]] Duration since_start() const { return now() - start_; }

  void after(Duration wait, std::function<void()> action) { time_.after(wait, std::move(action)); }

  /// Plays the next event. False when there is none before `end`: then the time is `end`.
  bool step(Duration end) { return time_.step(start_ + end); }

  /// What the loops of programs stand on.
  [[nodiscard]] ManualTime& time() { return time_; }

  /// From 0 to 1, 1 excluded.
  [[nodiscard]] double share();

  [[nodiscard]] bool happens(double probability) {
    return probability > 0 && share() < probability;
  }

  [[nodiscard]] Duration draw(const Between& range);

  /// From 0 to `bound` - 1; `bound` is at least 1.
  [[nodiscard]] std::size_t below(std::size_t bound) { return random_() % bound; }

 private:
  std::mt19937_64 random_;
  ManualTime time_;
  TimePoint start_ = time_.now();
};

}  // namespace sluice::simulation
