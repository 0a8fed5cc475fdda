#include "common/net/byte_buffer.h"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <string>
#include <vector>

namespace sluice::net {
namespace {

constexpr std::size_t kBlock = BlockPool::kBlockBytes;

void put(ByteBuffer& buffer, std::string_view text) {
  std::memcpy(buffer.tail(), text.data(), text.size());
  buffer.filled(text.size());
}

TEST(ByteBuffer, KeepsItsBytesWhenItBorrowsABlock) {
  BlockPool blocks;
  ByteBuffer buffer{&blocks};
  buffer.reserve(16);
  put(buffer, "0123456789abcdef");
  buffer.consume(10);

  buffer.enlarge();

  EXPECT_EQ(buffer.data(), "abcdef");
  EXPECT_EQ(buffer.room(), kBlock - 6);
}

TEST(ByteBuffer, KeepsItsBytesWhenItOutgrowsABlock) {
  BlockPool blocks;
  ByteBuffer buffer{&blocks};
  buffer.enlarge();
  put(buffer, std::string(kBlock, 'x'));

  buffer.reserve(2 * kBlock);

  EXPECT_EQ(buffer.data(), std::string(kBlock, 'x'));
  EXPECT_EQ(blocks.kept(), 1U);
}

TEST(ByteBuffer, GivesItsBlockBackAndFallsToItsOwnMemory) {
  BlockPool blocks;
  ByteBuffer buffer{&blocks};
  buffer.reserve(4096);
  buffer.enlarge();

  buffer.shrink(4096);

  EXPECT_EQ(buffer.capacity(), 4096U);
  EXPECT_EQ(blocks.kept(), 1U);
}

TEST(ByteBuffer, KeepsABlockThatStillHoldsBytes) {
  BlockPool blocks;
  ByteBuffer buffer{&blocks};
  buffer.enlarge();
  put(buffer, "next");

  buffer.shrink(0);

  EXPECT_EQ(buffer.data(), "next");
}

TEST(ByteBuffer, NeitherBorrowsNorGivesBackWhileAReadIsOutstanding) {
  BlockPool blocks;
  ByteBuffer buffer{&blocks};
  buffer.reserve(16);
  const char* const before = buffer.tail();
  buffer.pin();

  buffer.enlarge();
  buffer.shrink(0);

  EXPECT_EQ(buffer.tail(), before);
}

TEST(ByteBuffer, TakesALargeBlockFromTheHeapWithoutALender) {
  ByteBuffer buffer;
  buffer.enlarge();
  EXPECT_EQ(buffer.capacity(), kBlock);
}

TEST(BlockPool, LendsTheSameBlockAgain) {
  BlockPool blocks;
  BlockPool::Block block = blocks.take();
  const char* const bytes = block.get();
  blocks.give_back(std::move(block));
  EXPECT_EQ(blocks.take().get(), bytes);
}

TEST(BlockPool, KeepsOnlyAFewOfManyBlocks) {
  BlockPool blocks;
  {
    std::vector<std::unique_ptr<ByteBuffer>> buffers;
    for (std::size_t i = 0; i < 2 * BlockPool::kKeptMax; ++i) {
      buffers.push_back(std::make_unique<ByteBuffer>(&blocks));
      buffers.back()->enlarge();
    }
  }
  EXPECT_EQ(blocks.kept(), BlockPool::kKeptMax);
}

}  // namespace
}  // namespace sluice::net
