#include "bench/micro/allocation_count.h"
#include "common/load/request_stats.h"

#include <benchmark/benchmark.h>

namespace {

using namespace std::chrono_literals;
using sluice::TimePoint;

// One item is one request: its beginning, its end, and a report every thousand of them.
void request_stats(benchmark::State& state) {
  TimePoint now{1'700'000'000s};
  sluice::load::RequestStats stats(now);
  std::int64_t seen = 0;
  const std::int64_t before = sluice::micro::allocations();
  for (auto _ : state) {
    now += 10us;
    stats.in(now);
    now += 10us;
    stats.out(now);
    if (++seen % 1000 == 0) {
      benchmark::DoNotOptimize(stats.report(now));
    }
  }
  sluice::micro::conclude(state, before);
}

BENCHMARK(request_stats);

}  // namespace
