#include "load/core/trace_arrivals.h"

#include "common/base/check.h"

#include "load/core/portable_math.h"
#include <algorithm>

namespace sluice::loadgen {

namespace {

// SplitMix64: eight bytes of state, which a cell can have of its own, so that its times do not
// depend on which other cells are read.
std::uint64_t next_bits(std::uint64_t& state) {
  std::uint64_t bits = state += 0x9e3779b97f4a7c15;
  bits = (bits ^ (bits >> 30U)) * 0xbf58476d1ce4e5b9;
  bits = (bits ^ (bits >> 27U)) * 0x94d049bb133111eb;
  return bits ^ (bits >> 31U);
}

}  // namespace

// Gaps at rate 1, divided by their sum, are spaced like sorted uniform numbers. Drawing them twice
// from the same state costs time and saves keeping them.
CellTimes::CellTimes(const TraceCell& cell, std::uint64_t seed)
    : at_{cell.at}, length_{cell.length}, left_{cell.count}, state_{seed} {
  if (length_ == Duration::zero()) return;
  std::uint64_t state = state_;
  for (std::uint64_t i = 0; i <= left_; ++i) gaps_ += exponential_of(next_bits(state));
}

Duration CellTimes::take() {
  CHECK(left_ > 0);
  --left_;
  if (length_ == Duration::zero()) return at_;
  passed_ += exponential_of(next_bits(state_));
  const double share = gaps_ > 0 ? passed_ / gaps_ : 0;
  const auto into = static_cast<std::int64_t>(share * static_cast<double>(length_.count()));
  return at_ + std::min(Duration{into}, length_ - Duration{1});
}

double CellTimes::draw() {
  // Not from state_ itself, whose numbers are those of the times.
  std::uint64_t state = state_ ^ ((left_ + 1) * 0xd1342543de82ef95);
  return unit_of(next_bits(state));
}

TraceArrivals::TraceArrivals(std::uint64_t seed) : cell_seeds_{next_bits(seed)} {}

bool TraceArrivals::later(const Due& a, const Due& b) {
  return a.at != b.at ? a.at > b.at : a.order > b.order;
}

void TraceArrivals::push(Due due) {
  due_.push_back(due);
  std::push_heap(due_.begin(), due_.end(), later);
}

void TraceArrivals::add(const TraceCell& cell) {
  std::size_t slot = slots_.size();
  if (free_.empty()) {
    slots_.emplace_back();
  } else {
    slot = free_.back();
    free_.pop_back();
  }
  std::uint64_t state = cell_seeds_ ^ cells_;
  Slot& kept = slots_[slot];
  kept.cell = cell;
  kept.times = CellTimes{cell, next_bits(state)};
  newest_ = std::max(newest_, cell.at);
  push({kept.times.take(), cells_, slot});
  ++cells_;
}

std::optional<TraceArrival> TraceArrivals::next() {
  if (spent_) free_.push_back(*spent_);
  spent_.reset();
  if (due_.empty()) return std::nullopt;
  const bool settled =
      ended_ || due_.size() > kCellsMax || due_.front().at + order_kept_ <= newest_;
  if (!settled) return std::nullopt;
  std::pop_heap(due_.begin(), due_.end(), later);
  Due due = due_.back();
  due_.pop_back();
  last_ = std::max(last_, due.at);
  Slot& slot = slots_[due.slot];
  TraceArrival arrival{last_, slot.cell.duration, &slot.cell};
  if (!arrival.duration && !slot.cell.service_times.empty()) {
    arrival.duration = slot.cell.service_times.at(slot.times.draw());
  }
  if (slot.times.left() > 0) {
    due.at = slot.times.take();
    push(due);
  } else {
    spent_ = due.slot;
  }
  return arrival;
}

}  // namespace sluice::loadgen
