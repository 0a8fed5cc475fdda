#include "load/core/placed_cells.h"

#include <algorithm>
#include <utility>

namespace sluice::loadgen {

namespace {

constexpr std::size_t kLookedLines = 1000;
constexpr std::size_t kLookedBytes = kTraceLineMax;

}  // namespace

std::optional<Skip> PlacedCells::add(TraceCell& cell, const RequestTime& time, std::size_t bytes,
                                     const CellSink& sink) {
  if (!first_) {
    dated_ = time.dated;
    first_ = dated_ ? time.at : Duration::zero();
    newest_ = time.at;
  }
  if (time.at + order_kept_ < newest_) return Skip::order;
  newest_ = std::max(newest_, time.at);
  digits_ = std::max(digits_, time.digits);
  // A line that is out of order may lie before the first one.
  cell.at = std::max(time.at - *first_, Duration::zero());
  if (!looking_) {
    cell.length = resolution_;
    sink(cell);
    return std::nullopt;
  }
  looked_bytes_ += bytes;
  kept_.push_back(cell);
  if (kept_.size() >= kLookedLines || looked_bytes_ > kLookedBytes) finish(sink);
  return std::nullopt;
}

void PlacedCells::finish(const CellSink& sink) {
  if (!looking_) return;
  looking_ = false;
  if (digits_ < kExactDigits) {
    resolution_ = std::chrono::seconds{1};
    for (int i = 0; i < digits_; ++i) resolution_ /= 10;
  }
  for (TraceCell& cell : std::exchange(kept_, {})) {
    cell.length = resolution_;
    sink(cell);
  }
}

std::optional<TimePoint> PlacedCells::origin() const {
  if (!first_ || !dated_) return std::nullopt;
  return TimePoint{*first_};
}

}  // namespace sluice::loadgen
