#include "bench/micro/allocation_count.h"

#include <benchmark/benchmark.h>

#include <cstdio>

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) {
    return 2;
  }
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  if (sluice::micro::any_allocated()) {
    std::fputs("an item allocated in the steady state; see allocations_per_item\n", stderr);
    return 1;
  }
  return 0;
}
