#include "load/core/replay.h"

#include <cmath>
#include <utility>

namespace sluice::loadgen {

std::optional<SentAs> sent_as(std::string_view method) {
  if (method.empty()) return SentAs::planned;
  if (method == "GET") return SentAs::get;
  if (method == "HEAD") return SentAs::head;
  if (method == "OPTIONS") return SentAs::options;
  return std::nullopt;
}

ReplaySchedule::ReplaySchedule(const Replay& replay, std::uint64_t seed, CellReader cells)
    : speed_{replay.speed}, times_{replay.times}, arrivals_{seed}, cells_{std::move(cells)} {
  arrivals_.keep_order(order_kept(replay.format));
  take();
}

void ReplaySchedule::add(const TraceCell& cell) {
  if (!sent_as(cell.method)) return;
  cell_.at = cell.at;
  cell_.length = cell.length;
  cell_.count = cell.count * times_;
  cell_.method = cell.method;
  arrivals_.add(cell_);
}

void ReplaySchedule::take() {
  next_.reset();
  auto arrival = arrivals_.next();
  while (!arrival && !ended_) {
    ended_ = !cells_([this](const TraceCell& cell) { add(cell); });
    if (ended_) arrivals_.end();
    arrival = arrivals_.next();
  }
  if (!arrival) return;
  const auto at = std::llround(static_cast<double>(arrival->at.count()) / speed_);
  next_ = PlannedRequest{Duration{at}, *sent_as(arrival->cell->method)};
}

}  // namespace sluice::loadgen
