#include "load/core/run_blocks.h"

#include <algorithm>

namespace sluice::loadgen {

namespace {

// From so many on a run has blocks of full length; a shorter one is cut in so many.
constexpr std::size_t kShortRun = 60;
constexpr std::size_t kShortRunBlocks = 6;

std::vector<LatencyCell> merged(const std::vector<LatencyCell>& one,
                                const std::vector<LatencyCell>& other) {
  std::vector<LatencyCell> out;
  out.reserve(one.size() + other.size());
  auto next = one.begin();
  for (const LatencyCell& cell : other) {
    for (; next != one.end() && next->high < cell.high; ++next) out.push_back(*next);
    out.push_back(cell);
    for (; next != one.end() && next->high == cell.high; ++next) out.back().count += next->count;
  }
  out.insert(out.end(), next, one.end());
  return out;
}

// Each `times` blocks as one.
std::vector<RunBlock> joined(const std::vector<RunBlock>& blocks, std::size_t times) {
  std::vector<RunBlock> out;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    if (i % times == 0) out.emplace_back();
    add(out.back(), blocks[i]);
  }
  return out;
}

}  // namespace

void add(RunBlock& block, const RunBlock& other) {
  block.length += other.length;
  block.due += other.due;
  block.sent += other.sent;
  block.errors += other.errors;
  block.max = std::max(block.max, other.max);
  block.latency = merged(block.latency, other.latency);
}

void BlockSeries::add(Duration at, const RunBlock& piece) {
  if (width_ < kLength && at >= width_ * kShortRun)
    widen(static_cast<std::size_t>(kLength / width_));
  if (at >= width_ * kMost) {
    const std::int64_t wanted = at / (width_ * static_cast<std::int64_t>(kMost)) + 1;
    widen(static_cast<std::size_t>(wanted));
  }
  const auto place = static_cast<std::size_t>(std::max<std::int64_t>(at / width_, 0));
  while (blocks_.size() <= place) blocks_.emplace_back();
  loadgen::add(blocks_[place], piece);
}

std::vector<RunBlock> BlockSeries::finish() const {
  std::vector<RunBlock> out = blocks_;
  Duration width = width_;
  if (width_ < kLength) {
    const std::size_t times = std::max<std::size_t>(out.size() / kShortRunBlocks, 1);
    out = joined(out, times);
    width *= static_cast<std::int64_t>(times);
  }
  if (out.size() > 1 && out.back().length * 2 < width) {
    loadgen::add(out[out.size() - 2], out.back());
    out.pop_back();
  }
  return out;
}

void BlockSeries::widen(std::size_t times) {
  blocks_ = joined(blocks_, times);
  width_ *= static_cast<std::int64_t>(times);
}

}  // namespace sluice::loadgen
