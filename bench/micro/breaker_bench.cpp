#include "bench/micro/allocation_count.h"
#include "common/base/check.h"
#include "common/breaker/breaker.h"

#include <benchmark/benchmark.h>

namespace {

using namespace std::chrono_literals;
using sluice::TimePoint;
using sluice::breaker::Breaker;
using sluice::breaker::Entry;

constexpr TimePoint kNow{1'700'000'000s};

// One item is one request that finds a free slot.
void breaker_free(benchmark::State& state) {
  Breaker breaker({.concurrency = 100, .queue_depth = 1000});
  const std::int64_t before = sluice::micro::allocations();
  for (auto _ : state) {
    benchmark::DoNotOptimize(breaker.enter(kNow));
    benchmark::DoNotOptimize(breaker.leave());
  }
  sluice::micro::conclude(state, before);
}

BENCHMARK(breaker_free);

// One item is one request that waits: it joins a queue of the given length, another leaves.
void breaker_queued(benchmark::State& state) {
  const auto length = static_cast<std::int32_t>(state.range(0));
  Breaker breaker({.concurrency = 1, .queue_depth = length + 1});
  // The queue has been full once, then one place is free.
  for (std::int32_t i = 0; i < length + 2; ++i) {
    (void)breaker.enter(kNow);
  }
  (void)breaker.leave();
  const std::int64_t before = sluice::micro::allocations();
  for (auto _ : state) {
    const auto entered = breaker.enter(kNow);
    CHECK(entered.entry == Entry::queued);
    benchmark::DoNotOptimize(breaker.leave());
  }
  sluice::micro::conclude(state, before);
}

BENCHMARK(breaker_queued)->Arg(10)->Arg(10'000);

}  // namespace
