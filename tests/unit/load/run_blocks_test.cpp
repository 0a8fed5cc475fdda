#include "load/core/run_blocks.h"

#include <gtest/gtest.h>

namespace sluice::loadgen {
namespace {

using namespace std::chrono_literals;

std::vector<RunBlock> blocks_of(int seconds, Duration step = 1s) {
  BlockSeries series;
  for (int i = 0; i < seconds; ++i) {
    series.add(step * i, {step, 2, 2, 0, 2ms, {{1ms, 2ms, 2}}});
  }
  return series.finish();
}

std::vector<std::int64_t> lengths(const std::vector<RunBlock>& blocks) {
  std::vector<std::int64_t> out;
  for (const RunBlock& block : blocks) out.push_back(block.length / 1s);
  return out;
}

TEST(BlockSeries, AMinuteOrMoreHasBlocksOfTenSeconds) {
  EXPECT_EQ(lengths(blocks_of(60)), (std::vector<std::int64_t>{10, 10, 10, 10, 10, 10}));
  EXPECT_EQ(lengths(blocks_of(75)), (std::vector<std::int64_t>{10, 10, 10, 10, 10, 10, 10, 5}));
}

TEST(BlockSeries, ALastBlockBelowAHalfBelongsToTheOneBefore) {
  EXPECT_EQ(lengths(blocks_of(63)), (std::vector<std::int64_t>{10, 10, 10, 10, 10, 13}));
}

TEST(BlockSeries, ARunBelowAMinuteHasSixBlocks) {
  EXPECT_EQ(lengths(blocks_of(30)), (std::vector<std::int64_t>{5, 5, 5, 5, 5, 5}));
  EXPECT_EQ(lengths(blocks_of(3)), (std::vector<std::int64_t>{1, 1, 1}));
}

TEST(BlockSeries, ADayHasNoMoreThanTheMost) {
  const auto blocks = blocks_of(8640, 10s);
  EXPECT_LE(blocks.size(), BlockSeries::kMost);
  EXPECT_GT(blocks.size(), BlockSeries::kMost / 2);
  std::uint64_t sent = 0;
  for (const RunBlock& block : blocks) sent += block.sent;
  EXPECT_EQ(sent, 2U * 8640);
}

TEST(BlockSeries, LatenciesOfAPieceAreAddedInOrder) {
  RunBlock block{0s, 2, 2, 0, 5ms, {{1ms, 2ms, 1}, {4ms, 5ms, 1}}};
  add(block, {0s, 9, 9, 0, 7ms, {{2ms, 3ms, 2}, {4ms, 5ms, 3}, {6ms, 7ms, 4}}});
  EXPECT_EQ(block.latency,
            (std::vector<LatencyCell>{{1ms, 2ms, 1}, {2ms, 3ms, 2}, {4ms, 5ms, 4}, {6ms, 7ms, 4}}));
  EXPECT_EQ(block.max, 7ms);
}

}  // namespace
}  // namespace sluice::loadgen
