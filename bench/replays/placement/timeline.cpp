#include "bench/replays/placement/timeline.h"

#include <algorithm>
#include <utility>

namespace sluice::replay {
namespace {

// What is left of an image by rounding.
constexpr double kNothing = 1.0;

}  // namespace

void Timeline::at(TimePoint when, Event event) {
  due_.push({.when = std::max(when, now_), .number = made_++, .event = std::move(event)});
}

void Timeline::run_until(TimePoint end) {
  while (!due_.empty() && due_.top().when <= end) {
    const Due next = due_.top();
    due_.pop();
    now_ = next.when;
    next.event();
  }
  now_ = end;
}

void Link::load(double bytes, Timeline::Event done) {
  settle();
  loads_.push_back({.left = bytes, .done = std::move(done)});
  plan();
}

void Link::settle() {
  const double passed = to_seconds(timeline_.now() - settled_at_);
  settled_at_ = timeline_.now();
  if (loads_.empty()) return;
  const double each = passed * bytes_per_second_ / static_cast<double>(loads_.size());
  for (Load& load : loads_) load.left -= each;
}

void Link::plan() {
  const std::uint64_t plan = ++plan_;
  if (loads_.empty()) return;
  double least = loads_.front().left;
  for (const Load& load : loads_) least = std::min(least, load.left);
  const double wait = std::max(0.0, least) * static_cast<double>(loads_.size()) / bytes_per_second_;
  timeline_.after(from_seconds(wait) + Duration{1}, [this, plan] {
    if (plan != plan_) return;
    settle();
    std::vector<Timeline::Event> over;
    for (Load& load : loads_) {
      if (load.left < kNothing) over.push_back(std::move(load.done));
    }
    std::erase_if(loads_, [](const Load& load) { return load.left < kNothing; });
    plan_ = plan;
    this->plan();
    for (const Timeline::Event& done : over) done();
  });
}

}  // namespace sluice::replay
