#include "activator/core/throttler.h"
#include "bench/micro/allocation_count.h"
#include "common/base/check.h"

#include <benchmark/benchmark.h>

#include <deque>
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

void each_size(benchmark::internal::Benchmark* bench) {
  bench->Arg(3)->Arg(10)->Arg(64)->Arg(1000)->Arg(10'000);
}

BENCHMARK_CAPTURE(throttler_pick, first_available, BalancingPolicy::first_available)
    ->Apply(each_size);
BENCHMARK_CAPTURE(throttler_pick, round_robin, BalancingPolicy::round_robin)->Apply(each_size);
BENCHMARK_CAPTURE(throttler_pick, random_choice_2, BalancingPolicy::random_choice_2)
    ->Apply(each_size);
BENCHMARK_CAPTURE(throttler_pick, least_in_flight, BalancingPolicy::least_in_flight)
    ->Apply(each_size);

// One item is one change of one pod among many: it enters `avoid` or leaves it.
void throttler_avoid(benchmark::State& state) {
  Throttler throttler({.container_concurrency = 10});
  std::vector<Admission> admitted;
  std::vector<PodState> pods = pods_named(state.range(0));
  throttler.set_pods(pods, admitted);
  std::size_t next = 0;
  for (auto _ : state) {
    pods[next].avoid = !pods[next].avoid;
    throttler.update_pod(pods[next], admitted);
    next = (next + 7919) % pods.size();
  }
  state.SetItemsProcessed(state.iterations());
}

BENCHMARK(throttler_avoid)->Arg(10)->Arg(10'000);

// One item is one pod that goes from among many and one that comes.
void throttler_replace(benchmark::State& state) {
  Throttler throttler({.container_concurrency = 10});
  std::vector<Admission> admitted;
  const std::vector<PodState> pods = pods_named(state.range(0));
  throttler.set_pods(pods, admitted);
  std::size_t next = 0;
  for (auto _ : state) {
    CHECK(throttler.remove_pod(pods[next].id, admitted));
    throttler.update_pod(pods[next], admitted);
    next = (next + 7919) % pods.size();
  }
  state.SetItemsProcessed(state.iterations());
}

BENCHMARK(throttler_replace)->Arg(10)->Arg(10'000);

// One item is one of ten thousand waiters, each with a deadline, from joining before there is any
// pod to its end on one of ten pods that come at once.
void throttler_release(benchmark::State& state) {
  constexpr std::uint64_t kWaiters = 10'000;
  const std::vector<PodState> pods = pods_named(10);
  Throttler throttler({.container_concurrency = 100});
  std::vector<Admission> admitted;
  for (auto _ : state) {
    for (std::uint64_t i = 0; i < kWaiters; ++i) {
      CHECK(throttler.enter(kNow, i, {}, kNow + 60s).entry == Entry::queued);
    }
    throttler.set_pods(pods, admitted);
    for (std::size_t ended = 0; ended < admitted.size(); ++ended) {
      CHECK(admitted[ended].cookie == ended);
      throttler.leave(admitted[ended].pod, admitted);
    }
    CHECK(admitted.size() == kWaiters);
    admitted.clear();
    throttler.set_pods({}, admitted);
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(kWaiters));
}

BENCHMARK(throttler_release)->Unit(benchmark::kMillisecond);

// One item is one revision that comes and holds nothing, as most of a hundred thousand do: what
// it costs once its pods have gone again.
void throttler_idle(benchmark::State& state) {
  const std::vector<PodState> pods = pods_named(10);
  const auto count = static_cast<std::size_t>(state.range(0));
  std::int64_t bytes = 0;
  for (auto _ : state) {
    const std::int64_t before = sluice::micro::live_bytes();
    std::deque<Throttler> revisions;
    std::vector<Admission> admitted;
    for (std::size_t i = 0; i < count; ++i) {
      revisions.emplace_back(sluice::activator::ThrottlerSpec{.container_concurrency = 10});
      Throttler& throttler = revisions.back();
      (void)throttler.enter(kNow, 0, {}, kNow + 60s);
      admitted.clear();
      throttler.set_pods(pods, admitted);
      throttler.leave(admitted.front().pod, admitted);
      throttler.set_pods({}, admitted);
    }
    bytes = sluice::micro::live_bytes() - before;
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
  state.counters["bytes_per_idle_revision"] =
      static_cast<double>(bytes) / static_cast<double>(state.range(0));
}

BENCHMARK(throttler_idle)->Arg(10'000)->Unit(benchmark::kMillisecond);

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
