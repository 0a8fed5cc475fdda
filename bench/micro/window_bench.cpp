#include "autoscaler/core/decision/collector.h"
#include "autoscaler/core/decision/window_average.h"
#include "bench/micro/allocation_count.h"

#include <benchmark/benchmark.h>

#include <cstddef>
#include <vector>

namespace {

using namespace std::chrono_literals;
using sluice::TimePoint;
using sluice::autoscaler::Collector;
using sluice::autoscaler::DeciderSpec;
using sluice::autoscaler::Stat;
using sluice::autoscaler::WindowAverage;

constexpr TimePoint kStart{1'700'000'000s};

// One item is one stat into the four windows of a revision, each in a new second: the expensive
// case, since every window has to drop a bucket. Stats of one second only add up.
void window_record(benchmark::State& state) {
  Collector collector{DeciderSpec{}};
  Stat stat{.average_concurrency = 7.3, .request_count = 41};
  TimePoint now = kStart;
  for (int second = 0; second < 60; ++second) {
    collector.record(stat, now += 1s);
  }
  const std::int64_t before = sluice::micro::allocations();
  for (auto _ : state) {
    now += 1s;
    benchmark::DoNotOptimize(stat);
    collector.record(stat, now);
    benchmark::ClobberMemory();
  }
  sluice::micro::conclude(state, before);
}

BENCHMARK(window_record);

// One item is one average over a full window. Time moves on by a second from read to read, over
// windows that end a second apart, and every other read comes one second after the last write, as
// a tick does that runs between two scrapes. The peer, Knative, needs 120 to 150 ns for this.
void window_average(benchmark::State& state) {
  constexpr std::size_t kWindows = 128;
  const std::int64_t length = state.range(0);
  std::vector<WindowAverage> windows(kWindows, WindowAverage{std::chrono::seconds{length}});
  TimePoint end = kStart;
  for (WindowAverage& window : windows) {
    end += 1s;
    for (std::int64_t second = length - 1; second >= 0; --second) {
      window.record(end - std::chrono::seconds{second}, 0.1 * static_cast<double>(second % 17));
    }
  }
  std::size_t next = 0;
  const std::int64_t before = sluice::micro::allocations();
  for (auto _ : state) {
    const TimePoint last = kStart + std::chrono::seconds{next + 1};
    const TimePoint now = last + std::chrono::seconds{next % 2};
    benchmark::DoNotOptimize(windows[next].average(now));
    next = (next + 1) % kWindows;
  }
  sluice::micro::conclude(state, before);
}

BENCHMARK(window_average)->Arg(60);

}  // namespace
