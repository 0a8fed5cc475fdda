#include "bench/micro/allocation_count.h"

#include <atomic>
#include <cstdlib>
#include <malloc.h>
#include <new>

namespace {

// The one exception to "no mutable statics": operator new has no owner to keep its counts.
std::atomic<std::int64_t> g_allocations{0};
std::atomic<std::int64_t> g_live_bytes{0};
std::atomic<bool> g_any_allocated{false};

// A block costs what malloc set aside, which is at least what was asked for, and its header.
std::int64_t cost_of(void* memory) {
  return static_cast<std::int64_t>(malloc_usable_size(memory) + sizeof(std::size_t));
}

void* count_and_allocate(std::size_t size) {
  g_allocations.fetch_add(1, std::memory_order_relaxed);
  void* const memory = std::malloc(size == 0 ? 1 : size);
  if (memory == nullptr) {
    throw std::bad_alloc();
  }
  g_live_bytes.fetch_add(cost_of(memory), std::memory_order_relaxed);
  return memory;
}

void count_and_free(void* memory) {
  if (memory == nullptr) {
    return;
  }
  g_live_bytes.fetch_sub(cost_of(memory), std::memory_order_relaxed);
  std::free(memory);
}

}  // namespace

void* operator new(std::size_t size) {
  return count_and_allocate(size);
}

void* operator new[](std::size_t size) {
  return count_and_allocate(size);
}

void operator delete(void* memory) noexcept {
  count_and_free(memory);
}

void operator delete[](void* memory) noexcept {
  count_and_free(memory);
}

void operator delete(void* memory, std::size_t) noexcept {
  count_and_free(memory);
}

void operator delete[](void* memory, std::size_t) noexcept {
  count_and_free(memory);
}

namespace sluice::micro {

std::int64_t allocations() {
  return g_allocations.load(std::memory_order_relaxed);
}

std::int64_t live_bytes() {
  return g_live_bytes.load(std::memory_order_relaxed);
}

void conclude(benchmark::State& state, std::int64_t before) {
  const std::int64_t made = allocations() - before;
  const auto items = static_cast<double>(state.iterations());
  state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations()));
  state.counters["allocations_per_item"] = static_cast<double>(made) / items;
  if (made > 0) {
    g_any_allocated.store(true);
  }
}

bool any_allocated() {
  return g_any_allocated.load();
}

}  // namespace sluice::micro
