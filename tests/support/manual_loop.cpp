#include "tests/support/manual_loop.h"

#include "common/base/lifetime.h"

#include <algorithm>
#include <utility>

namespace sluice {
namespace {

class ManualTimer final : public Timer {
 public:
  ManualTimer(ManualTime& time, const Loop& loop) : time_{time}, loop_{loop} {}

  void after(Duration wait, Action action) override {
    action_ = std::move(action);
    time_.after(wait, [this, alive = alive_.watch(), setting = ++setting_] {
      if (alive.over() || setting != setting_) return;
      std::exchange(action_, nullptr)();
    });
  }

  void at(TimePoint when, Action action) override { after(when - loop_.now(), std::move(action)); }

  void cancel() override {
    ++setting_;
    action_ = nullptr;
  }

 private:
  ManualTime& time_;
  const Loop& loop_;
  Action action_;
  std::uint64_t setting_ = 0;
  Lifetime alive_;
};

}  // namespace

void ManualTime::after(Duration wait, std::function<void()> action) {
  events_.push_back({now_ + std::max(wait, Duration{0}), order_++, std::move(action)});
  std::push_heap(events_.begin(), events_.end(), later);
}

bool ManualTime::step(TimePoint end) {
  if (events_.empty() || events_.front().at > end) {
    now_ = std::max(now_, end);
    return false;
  }
  std::pop_heap(events_.begin(), events_.end(), later);
  const Event event = std::move(events_.back());
  events_.pop_back();
  now_ = event.at;
  event.action();
  return true;
}

void ManualTime::run_for(Duration length) {
  const TimePoint end = now_ + length;
  while (step(end)) {
  }
}

void ManualLoop::post(std::function<void()> action) {
  time_.after(Duration{0}, std::move(action));
}

std::unique_ptr<Timer> ManualLoop::timer() {
  return std::make_unique<ManualTimer>(time_, *this);
}

}  // namespace sluice
