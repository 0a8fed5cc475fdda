#include "common/net/h2/h2_memory.h"

#include <cstdlib>
#include <cstring>
#include <malloc.h>
#include <utility>

namespace sluice::net {
namespace {

constexpr std::size_t kKeptMax = 128 * 1024;  // some fifty streams at once

}  // namespace

H2Memory::~H2Memory() {
  trim();
}

void* H2Memory::take(std::size_t size) {
  const std::size_t row = size == 0 ? 0 : (size - 1) / kStep;
  if (row < kRows) {
    size = (row + 1) * kStep;
    if (Block* const block = rows_[row]) {
      rows_[row] = block->next;
      kept_ -= size;
      return block + 1;
    }
  }
  auto* const block = static_cast<Block*>(std::malloc(sizeof(Block) + size));
  if (block == nullptr) return nullptr;
  block->size = size;
  return block + 1;
}

void H2Memory::give(void* memory) {
  if (memory == nullptr) return;
  Block* const block = static_cast<Block*>(memory) - 1;
  if (block->size > kRows * kStep || kept_ + block->size > kKeptMax) {
    std::free(block);
    return;
  }
  Block*& row = rows_[block->size / kStep - 1];
  block->next = row;
  row = block;
  kept_ += block->size;
}

void* H2Memory::resize(void* memory, std::size_t size) {
  if (memory == nullptr) return take(size);
  const std::size_t had = (static_cast<Block*>(memory) - 1)->size;
  if (size <= had) return memory;
  void* const larger = take(size);
  if (larger == nullptr) return nullptr;
  std::memcpy(larger, memory, had);
  give(memory);
  return larger;
}

void H2Memory::trim() {
  for (Block*& row : rows_) {
    while (row != nullptr) std::free(std::exchange(row, row->next));
  }
  kept_ = 0;
}

void return_freed_pages() {
#ifdef __GLIBC__
  ::malloc_trim(0);
#endif
}

}  // namespace sluice::net
