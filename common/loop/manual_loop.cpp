#include "common/loop/manual_loop.h"

#include "common/base/lifetime.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace sluice {

// A timer of one loop.
class ManualLoop::At final : public Timer {
 public:
  explicit At(ManualLoop& loop) : loop_{loop} { loop_.timers_.push_back(this); }

  ~At() override { std::erase(loop_.timers_, this); }

  At(const At&) = delete;
  At& operator=(const At&) = delete;

  void after(Duration wait, Action action) override {
    when_.reset();
    set(wait, std::move(action));
  }

  void at(TimePoint when, Action action) override {
    set(when - loop_.now(), std::move(action));
    when_ = when;
  }

  void cancel() override {
    ++setting_;
    action_ = nullptr;
    when_.reset();
  }

  /// Whether it waits for a time that has come.
  [[nodiscard]] bool due() const { return when_ && *when_ <= loop_.now(); }

  void run() {
    ++setting_;
    when_.reset();
    std::exchange(action_, nullptr)();
  }

 private:
  void set(Duration wait, Action action) {
    action_ = std::move(action);
    loop_.time_.after(wait, [this, alive = alive_.watch(), setting = ++setting_] {
      if (!alive.over() && setting == setting_) run();
    });
  }

  ManualLoop& loop_;
  Action action_;
  std::optional<TimePoint> when_;  // if it was set for a time of the clock
  std::uint64_t setting_ = 0;
  Lifetime alive_;
};

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
  now_ = std::max(now_, event.at);
  event.action();
  return true;
}

void ManualTime::skip(Duration length) {
  now_ += std::max(length, Duration{0});
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
  return std::make_unique<At>(*this);
}

// What runs may make and end timers, and set those that have run again.
void ManualLoop::step(Duration by) {
  offset_ += by;
  const std::vector<At*> waiting = timers_;
  for (At* const timer : waiting) {
    const bool there = std::find(timers_.begin(), timers_.end(), timer) != timers_.end();
    if (there && timer->due()) timer->run();
  }
}

}  // namespace sluice
