#include "load/core/generator_watch.h"

#include <algorithm>

namespace sluice::loadgen {

std::string_view name_of(Mark::Kind kind) {
  switch (kind) {
    case Mark::Kind::generator_gap:
      return "generator_gap";
    case Mark::Kind::clock_step:
      return "clock_step";
  }
  return {};
}

void GeneratorWatch::tick(const Tick& tick) {
  if (last_) {
    const Duration passed = tick.at - last_->at;
    const Duration idle = passed - (tick.cpu - last_->cpu);
    if (idle - kInterval > kGap) mark(last_->at, Mark::Kind::generator_gap, idle - kInterval);
    const Duration step = tick.wall - last_->wall - passed;
    if (step > kGap || step < -kGap) mark(tick.at, Mark::Kind::clock_step, step);
  }
  last_ = tick;
  if (!window_) window_ = tick;
  const Duration length = tick.at - window_->at;
  if (length < std::chrono::seconds{1}) return;
  busiest_ = std::max(busiest_, to_seconds(tick.cpu - window_->cpu) / to_seconds(length));
  window_ = tick;
}

void GeneratorWatch::mark(Duration at, Mark::Kind kind, Duration length) {
  if (marks_.size() < kMarksMax) marks_.push_back({at, kind, length});
}

void GeneratorWatch::add(const GeneratorWatch& other) {
  busiest_ = std::max(busiest_, other.busiest_);
  marks_.insert(marks_.end(), other.marks_.begin(), other.marks_.end());
  std::stable_sort(marks_.begin(), marks_.end(),
                   [](const Mark& a, const Mark& b) { return a.at < b.at; });
  if (marks_.size() > kMarksMax) marks_.resize(kMarksMax);
}

}  // namespace sluice::loadgen
