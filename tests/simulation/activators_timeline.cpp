#include "tests/simulation/activators_timeline.h"

#include <algorithm>
#include <utility>

namespace sluice::simulation {

Timeline::Timeline(std::uint64_t seed)
    : random_(seed), start_(std::chrono::seconds{1'700'000'000}), now_(start_) {}

void Timeline::after(Duration wait, std::function<void()> action) {
  events_.push_back({now_ + std::max(wait, Duration{0}), order_++, std::move(action)});
  std::push_heap(events_.begin(), events_.end(), later);
}

bool Timeline::step(Duration end) {
  if (events_.empty() || events_.front().at > start_ + end) {
    now_ = std::max(now_, start_ + end);
    return false;
  }
  std::pop_heap(events_.begin(), events_.end(), later);
  const Event event = std::move(events_.back());
  events_.pop_back();
  now_ = event.at;
  event.action();
  return true;
}

double Timeline::share() {
  return static_cast<double>(random_() >> 11) * 0x1p-53;
}

Duration Timeline::draw(const Between& range) {
  return range.from + from_seconds(share() * to_seconds(range.to - range.from));
}

}  // namespace sluice::simulation
