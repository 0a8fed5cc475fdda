#include "activator/core/throttler.h"
#include "bench/micro/allocation_count.h"
#include "common/base/check.h"

#include <benchmark/benchmark.h>

#include <string>
#include <vector>

namespace {

using namespace std::chrono_literals;
using sluice::TimePoint;
using sluice::activator::Admission;
using sluice::activator::BalancingPolicy;
using sluice::activator::Entry;
using sluice::activator::PodRef;
using sluice::activator::PodState;
using sluice::activator::Throttler;

constexpr TimePoint kNow{1'700'000'000s};

std::vector<PodState> pods_named(std::int64_t count) {
  std::vector<PodState> pods;
  for (std::int64_t i = 0; i < count; ++i) {
    pods.push_back({.id = {"app-00001-" + std::to_string(i)}});
  }
  return pods;
}

// One item is one request on pods half full: the pick, and the end of the oldest one before it.
void throttler_pick(benchmark::State& state, BalancingPolicy policy) {
  constexpr std::int32_t kLimit = 10;
  const std::int64_t count = state.range(0);
  Throttler throttler({.container_concurrency = kLimit, .policy = policy});
  std::vector<Admission> admitted;
  throttler.set_pods(pods_named(count), admitted);
  std::vector<PodRef> running(static_cast<std::size_t>(count * kLimit / 2));
  for (PodRef& pod : running) {
    pod = throttler.enter(kNow, 0).pod;
  }
  std::size_t oldest = 0;
  const std::int64_t before = sluice::micro::allocations();
  for (auto _ : state) {
    throttler.leave(running[oldest], admitted);
    running[oldest] = throttler.enter(kNow, 0).pod;
    oldest = oldest + 1 == running.size() ? 0 : oldest + 1;
  }
  sluice::micro::conclude(state, before);
}

BENCHMARK_CAPTURE(throttler_pick, first_available, BalancingPolicy::first_available)
    ->Arg(3)
    ->Arg(64)
    ->Arg(1000);
BENCHMARK_CAPTURE(throttler_pick, round_robin, BalancingPolicy::round_robin)
    ->Arg(3)
    ->Arg(64)
    ->Arg(1000);
BENCHMARK_CAPTURE(throttler_pick, random_choice_2, BalancingPolicy::random_choice_2)
    ->Arg(3)
    ->Arg(64)
    ->Arg(1000);
BENCHMARK_CAPTURE(throttler_pick, least_in_flight, BalancingPolicy::least_in_flight)
    ->Arg(3)
    ->Arg(64)
    ->Arg(1000);

// One item is one request that waits in a long queue before full pods.
void throttler_queued(benchmark::State& state) {
  Throttler throttler({.container_concurrency = 1});
  std::vector<Admission> admitted;
  throttler.set_pods(pods_named(state.range(0)), admitted);
  PodRef running;
  for (std::int64_t i = 0; i < state.range(0); ++i) {
    running = throttler.enter(kNow, 0).pod;
  }
  for (std::uint64_t i = 0; i < 1000; ++i) {
    (void)throttler.enter(kNow, i);
  }
  throttler.leave(running, admitted);
  const std::int64_t before = sluice::micro::allocations();
  for (auto _ : state) {
    const auto entered = throttler.enter(kNow, 1);
    CHECK(entered.entry == Entry::queued);
    const PodRef ended = admitted.back().pod;
    admitted.clear();
    throttler.leave(ended, admitted);
  }
  sluice::micro::conclude(state, before);
}

BENCHMARK(throttler_queued)->Arg(1)->Arg(64);

}  // namespace
