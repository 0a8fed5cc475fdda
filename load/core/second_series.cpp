#include "load/core/second_series.h"

#include "load/core/tally.h"
#include <algorithm>

namespace sluice::loadgen {

void Second::add(const Second& other) {
  sent += other.sent;
  answered += other.answered;
  errors += other.errors;
  not_sent += other.not_sent;
  max = std::max(max, other.max);
  latency.add(other.latency);
  taken += other.taken;
  ended += other.ended;
}

SecondSeries::SecondSeries(std::size_t targets, Duration from) : targets_{targets}, from_{from} {}

void SecondSeries::sent(std::size_t target, Duration planned, Duration taken) {
  if (planned < from_) return;
  ++cell_of(target, taken).taken;
  ++cell_of(target, planned).sent;
}

void SecondSeries::finished(std::size_t target, const Outcome& outcome, bool error) {
  if (outcome.planned < from_) return;
  ++cell_of(target, outcome.done).ended;
  Second& second = cell_of(target, outcome.planned);
  if (outcome.ending == Ending::answered) ++second.answered;
  if (error) ++second.errors;
  if (has_latency(outcome.ending)) {
    record(second, outcome.done - outcome.planned);
  }
}

void SecondSeries::unsent(std::size_t target, Duration planned) {
  if (planned < from_) return;
  Second& second = cell_of(target, planned);
  ++second.not_sent;
  ++second.errors;
}

void SecondSeries::record(Second& second, Duration latency) {
  const std::size_t before = second.latency.buckets().size();
  second.max = std::max(second.max, latency);
  second.latency.record(latency);
  buckets_ += second.latency.buckets().size() - before;
  while (buckets_ > kBucketsMax && rows() > 1) widen();
}

void SecondSeries::add(const SecondSeries& other) {
  while (step_ < other.step_) widen();
  for (std::size_t row = 0; row < other.rows(); ++row) {
    for (std::size_t target = 0; target < targets_; ++target) {
      Second& second = cell_of(target, other.begin_of(row));
      const std::size_t before = second.latency.buckets().size();
      second.add(other.at(row, target));
      buckets_ += second.latency.buckets().size() - before;
    }
  }
  while (buckets_ > kBucketsMax && rows() > 1) widen();
}

std::vector<std::uint64_t> SecondSeries::in_flight(std::size_t target) const {
  std::vector<std::uint64_t> out;
  std::uint64_t now = 0;
  for (std::size_t row = 0; row < rows(); ++row) {
    now += at(row, target).taken;
    now -= std::min(now, at(row, target).ended);
    out.push_back(now);
  }
  return out;
}

Second& SecondSeries::cell_of(std::size_t target, Duration at) {
  const Duration since = std::max(at - from_, Duration::zero());
  while (static_cast<std::size_t>(since / step_) >=
         std::max<std::size_t>(kSecondsMax / targets_, 1)) {
    widen();
  }
  const auto row = static_cast<std::size_t>(since / step_);
  if (row >= rows()) cells_.resize((row + 1) * targets_);
  return cells_[row * targets_ + target];
}

void SecondSeries::widen() {
  step_ *= 2;
  const std::size_t before = rows();
  for (std::size_t row = 0; row < before; ++row) {
    for (std::size_t target = 0; target < targets_; ++target) {
      Second& from = cells_[row * targets_ + target];
      Second& to = cells_[row / 2 * targets_ + target];
      if (row % 2 == 0) {
        if (row > 0) to = std::move(from);
      } else {
        to.add(from);
        to.latency.shrink();
      }
    }
  }
  cells_.resize((before + 1) / 2 * targets_);
  buckets_ = 0;
  for (const Second& second : cells_) buckets_ += second.latency.buckets().size();
}

}  // namespace sluice::loadgen
