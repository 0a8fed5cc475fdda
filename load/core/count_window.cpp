#include "load/core/count_window.h"

#include <algorithm>

namespace sluice::loadgen {

namespace {

constexpr Duration kMinute = std::chrono::minutes{1};

}  // namespace

CountWindow::CountWindow(Duration from, std::size_t counts_max)
    : from_{static_cast<std::uint32_t>(from / kMinute)},
      end_{static_cast<std::uint32_t>(kDay / kMinute)},
      counts_max_{counts_max} {}

void CountWindow::add(const TraceCell& cell) {
  const auto minute = static_cast<std::uint32_t>(cell.at / kMinute);
  if (minute < from_ || minute >= end_) return;
  if (counts_.size() >= counts_max_) {
    shorten();
    if (minute >= end_) return;
  }
  if (functions_.empty() || functions_.back().name != cell.service) {
    functions_.push_back({cell.service, cell.service_times});
  }
  const auto function = static_cast<std::uint32_t>(functions_.size() - 1);
  counts_.push_back({function, static_cast<std::uint32_t>(cell.count), minute});
}

// A window of one minute holds as many counts as there are functions.
void CountWindow::shorten() {
  while (counts_.size() >= counts_max_ && end_ - from_ > 1) {
    end_ = from_ + (end_ - from_) / 2;
    std::erase_if(counts_, [this](const Count& count) { return count.minute >= end_; });
  }
}

void CountWindow::pass_on(const CellSink& sink) {
  // In place: a stable sort would take the memory once more.
  std::sort(counts_.begin(), counts_.end(), [](const Count& a, const Count& b) {
    return a.minute != b.minute ? a.minute < b.minute : a.function < b.function;
  });
  TraceCell cell;
  cell.length = kMinute;
  for (const Count& count : counts_) {
    cell.at = count.minute * kMinute;
    cell.count = count.requests;
    cell.service = functions_[count.function].name;
    cell.service_times = functions_[count.function].times;
    sink(cell);
  }
}

Duration CountWindow::end() const {
  return end_ * kMinute;
}

}  // namespace sluice::loadgen
