#include "bench/micro/allocation_count.h"
#include "common/base/check.h"

#include <benchmark/benchmark.h>

#include "load/core/trace_parser.h"
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace {

using sluice::loadgen::CellSink;
using sluice::loadgen::TraceCell;
using sluice::loadgen::TraceParser;

// One item is one line of a csv trace with six columns, 70 bytes.
void trace_csv(benchmark::State& state) {
  constexpr int kLines = 512;
  std::vector<std::string> lines;
  for (int i = 0; i < kLines; ++i) {
    lines.push_back("86" + std::to_string(400 + i / 128) + "." + std::to_string(100 + i % 128) +
                    ",GET,/api/items/1234?page=2,shop.example.com,12.5,200\n");
  }
  TraceParser parser{{}};
  std::uint64_t requests = 0;
  const CellSink sink = [&requests](const TraceCell& cell) { requests += cell.count; };
  CHECK(!parser.feed("at_s,method,path,host,duration_ms,status\n", sink));
  // Beyond those from which the resolution is found.
  for (int round = 0; round < 3; ++round) {
    for (const std::string& line : lines) CHECK(!parser.feed(line, sink));
  }
  std::size_t next = 0;
  const std::int64_t before = sluice::micro::allocations();
  for (auto _ : state) {
    CHECK(!parser.feed(lines[next], sink));
    next = (next + 1) % kLines;
  }
  sluice::micro::conclude(state, before);
  CHECK(requests == 3 * kLines + static_cast<std::uint64_t>(state.iterations()));
}

BENCHMARK(trace_csv);

}  // namespace
