sluice_bench(micro_bench
  SOURCES micro/allocation_count.cpp micro/breaker_bench.cpp micro/decider_bench.cpp
          micro/load_bench.cpp micro/main.cpp micro/request_metrics_bench.cpp micro/throttler_bench.cpp
          micro/window_bench.cpp
  DEPS    sluice::activator_core sluice::autoscaler_core sluice::breaker sluice::load
          sluice::queue_proxy_telemetry)

# Not for its timings: it fails when an item of a steady state allocates.
add_test(NAME micro_bench_allocates_nothing COMMAND micro_bench --benchmark_min_time=0.001)
set_tests_properties(micro_bench_allocates_nothing PROPERTIES LABELS unit TIMEOUT 60)
