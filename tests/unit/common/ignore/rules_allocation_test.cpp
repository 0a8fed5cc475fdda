// A request that is compared with rules allocates nothing, once their expressions have met its
// like.

#include "common/ignore/rules.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <new>

namespace {

std::size_t allocations = 0;

void* counted(std::size_t bytes) {
  ++allocations;
  void* const memory = std::malloc(bytes == 0 ? 1 : bytes);
  if (memory == nullptr) throw std::bad_alloc{};
  return memory;
}

}  // namespace

void* operator new(std::size_t bytes) {
  return counted(bytes);
}

void* operator new[](std::size_t bytes) {
  return counted(bytes);
}

void operator delete(void* memory) noexcept {
  std::free(memory);
}

void operator delete[](void* memory) noexcept {
  std::free(memory);
}

void operator delete(void* memory, std::size_t /*bytes*/) noexcept {
  std::free(memory);
}

void operator delete[](void* memory, std::size_t /*bytes*/) noexcept {
  std::free(memory);
}

namespace sluice::ignore {
namespace {

TEST(IgnoreRulesAllocation, MatchingAllocatesNothing) {
  const Rules rules{"/healthz\n/metrics*", "(?i)uptime\n^kube-probe/\nbot|spider|crawl"};
  const std::string agent =
      "Mozilla/5.0 (X11; Linux x86_64; rv:109.0) Gecko/20100101 Firefox/115.0";
  (void)rules.match("/cart", agent);
  const std::size_t before = allocations;

  bool any = false;
  for (int n = 0; n < 100; ++n) any = rules.match("/cart", agent) || any;

  EXPECT_EQ(allocations - before, 0U);
  EXPECT_FALSE(any);
}

}  // namespace
}  // namespace sluice::ignore
