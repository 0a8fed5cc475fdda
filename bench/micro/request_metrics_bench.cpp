#include "bench/micro/allocation_count.h"
#include "queue-proxy/core/request_metrics.h"

#include <benchmark/benchmark.h>

namespace {

using namespace std::chrono_literals;
using sluice::queue_proxy::RequestMetrics;
using sluice::queue_proxy::RequestRecord;

// One item is one request in all its metrics: four histograms of the server's side, two of the
// client's, the container's time, the wait for a slot, and two counters.
void request_metrics(benchmark::State& state) {
  RequestMetrics metrics({"1.0.0", "app", "default", "app", "app", "app-00001", "pod", "8080"});
  sluice::http::RequestHead head;
  head.method = "GET";
  RequestRecord record{.head = head, .route = "kn:disabled", .bounded = true, .status = 200};
  record.app = 0ns;
  const auto serve = [&](std::int64_t step) {
    record.latency = sluice::Duration{step * 7919 % 20'000'000};
    record.app = record.latency / 2;
    record.response_bytes = static_cast<std::uint64_t>(step * 31 % 20'000);
    metrics.enter(head.method, false);
    metrics.leave(record);
  };
  serve(0);  // the first of its kind makes its series
  const std::int64_t before = sluice::micro::allocations();
  std::int64_t step = 0;
  for (auto _ : state) serve(++step);
  sluice::micro::conclude(state, before);
}

BENCHMARK(request_metrics);

}  // namespace
