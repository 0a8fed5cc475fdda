#include "load/core/replay.h"

#include <cmath>
#include <utility>

namespace sluice::loadgen {

bool has_body(SentAs as) {
  return as == SentAs::planned || as == SentAs::post || as == SentAs::put || as == SentAs::patch;
}

std::optional<SentAs> sent_as(std::string_view method, Methods methods) {
  if (method.empty()) return SentAs::planned;
  if (method == "GET") return SentAs::get;
  if (method == "HEAD") return SentAs::head;
  if (method == "OPTIONS") return SentAs::options;
  if (methods == Methods::safe) return std::nullopt;
  if (method == "DELETE") return SentAs::remove;
  if (method == "POST") return SentAs::post;
  if (method == "PUT") return SentAs::put;
  if (method == "PATCH") return SentAs::patch;
  return std::nullopt;
}

ReplaySchedule::ReplaySchedule(const Replay& replay, std::uint64_t seed, CellReader cells)
    : speed_{replay.speed},
      times_{replay.times},
      part_{replay.part},
      arrivals_{seed},
      cells_{std::move(cells)} {
  arrivals_.keep_order(order_kept(replay.format));
  take();
}

void ReplaySchedule::add(const TraceCell& cell) {
  if (!part_.covers(cell) || !sent_as(cell.method, part_.methods)) return;
  cell_.at = cell.at - part_.from;
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
  next_ = PlannedRequest{Duration{at}, *sent_as(arrival->cell->method, part_.methods)};
}

}  // namespace sluice::loadgen
