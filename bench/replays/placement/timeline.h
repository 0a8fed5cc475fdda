#pragma once

#include "common/time/time_point.h"

#include <cstdint>
#include <functional>
#include <queue>
#include <utility>
#include <vector>

namespace sluice::replay {

/// Virtual time: events in the order of their moments, of one moment in the order they were made.
class Timeline {
 public:
  using Event = std::function<void()>;

  [[nodiscard]] TimePoint now() const { return now_; }

  void at(TimePoint when, Event event);

  void after(Duration wait, Event event) { at(now_ + wait, std::move(event)); }

  /// Plays what is due until `end`, which is the time then.
  void run_until(TimePoint end);

 private:
  struct Due {
    TimePoint when{};
    std::uint64_t number = 0;
    Event event;

    friend bool operator<(const Due& a, const Due& b) {
      return a.when != b.when ? a.when > b.when : a.number > b.number;
    }
  };

  TimePoint now_{};
  std::uint64_t made_ = 0;
  std::priority_queue<Due> due_;
};

/// A link over which images come, shared equally by all that load.
class Link {
 public:
  /// `timeline` outlives this.
  Link(Timeline& timeline, double bytes_per_second)
      : timeline_{timeline}, bytes_per_second_{bytes_per_second} {}

  void load(double bytes, Timeline::Event done);

 private:
  struct Load {
    double left = 0;
    Timeline::Event done;
  };

  void settle();
  void plan();

  Timeline& timeline_;
  double bytes_per_second_;
  std::vector<Load> loads_;
  TimePoint settled_at_{};
  std::uint64_t plan_ = 0;
};

}  // namespace sluice::replay
