#include "common/net/h2/h2_memory.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>

namespace sluice::net {
namespace {

TEST(H2Memory, ReusesReturnedBlocks) {
  H2Memory memory;
  void* const first = memory.take(100);
  memory.give(first);
  EXPECT_EQ(memory.kept(), 128U);
  EXPECT_EQ(memory.take(65), first);
  EXPECT_EQ(memory.kept(), 0U);
  memory.give(first);
}

TEST(H2Memory, TrimmedKeepsNothing) {
  H2Memory memory;
  void* const small = memory.take(0);
  void* const large = memory.take(1024);
  memory.give(small);
  memory.give(large);
  EXPECT_EQ(memory.kept(), 64U + 1024U);
  memory.trim();
  EXPECT_EQ(memory.kept(), 0U);
}

TEST(H2Memory, KeepsNoLargeBlocksAndNotWithoutEnd) {
  H2Memory memory;
  memory.give(memory.take(1025));
  EXPECT_EQ(memory.kept(), 0U);
  void* taken[200];
  for (void*& block : taken) block = memory.take(1024);
  for (void* const block : taken) memory.give(block);
  EXPECT_EQ(memory.kept(), 128U * 1024U);
}

TEST(H2Memory, ResizedKeepsItsContent) {
  H2Memory memory;
  void* block = memory.resize(nullptr, 10);
  std::memcpy(block, "0123456789", 10);
  block = memory.resize(block, 5000);
  EXPECT_EQ(std::memcmp(block, "0123456789", 10), 0);
  EXPECT_EQ(memory.resize(block, 20), block);
  memory.give(block);
  memory.give(nullptr);
}

TEST(H2Memory, BlocksAreAlignedForAnything) {
  H2Memory memory;
  for (const std::size_t size : {1U, 64U, 65U, 1000U, 5000U}) {
    void* const block = memory.take(size);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block) % alignof(std::max_align_t), 0U);
    memory.give(block);
  }
}

}  // namespace
}  // namespace sluice::net
