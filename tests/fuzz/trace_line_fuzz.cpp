// Goal: no bytes of a trace break what reads it, the same cells are found however the bytes are
// cut, and the arrivals of any cells are in order. Method: the input is a whole trace, read as a
// whole, byte by byte and by seven; its cells are then dealt out.
#include "common/base/check.h"
#include "tests/fuzz/h1_message.h"

#include "load/core/trace_arrivals.h"
#include "load/core/trace_parser.h"
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace {

using sluice::Duration;
using sluice::loadgen::kCellRequestsMax;
using sluice::loadgen::kTraceLineMax;
using sluice::loadgen::TraceArrivals;
using sluice::loadgen::TraceCell;
using sluice::loadgen::TraceParser;

struct Reading {
  std::string cells;
  std::string problem;
  std::string skipped;

  bool operator==(const Reading&) const = default;
};

// What each format promises of a cell.
void check(const TraceCell& cell) {
  CHECK(cell.at >= Duration::zero() && cell.length >= Duration::zero());
  CHECK(cell.count >= 1 && cell.count <= kCellRequestsMax);
  CHECK(!cell.duration || *cell.duration >= Duration::zero());
  CHECK(cell.path.size() <= kTraceLineMax);
}

void append(std::string& out, const TraceCell& cell) {
  out += std::to_string(cell.at.count()) + "+" + std::to_string(cell.length.count()) + "x" +
         std::to_string(cell.count) + cell.service + "|" + cell.host + "|" + cell.method + "|" +
         cell.path + "|" + (cell.duration ? std::to_string(cell.duration->count()) : "") + "\n";
}

Reading read(std::string_view bytes, std::size_t step, std::vector<TraceCell>& cells) {
  Reading out;
  TraceParser parser{{}};
  std::uint64_t requests = 0;
  const auto sink = [&](const TraceCell& cell) {
    check(cell);
    append(out.cells, cell);
    cells.push_back(cell);
    requests += cell.count;
  };
  std::optional<sluice::Problem> problem;
  while (!problem && !bytes.empty()) {
    const std::string_view piece = bytes.substr(0, step);
    bytes.remove_prefix(piece.size());
    problem = parser.feed(piece, sink);
  }
  if (!problem) problem = parser.finish(sink);
  if (problem) out.problem = problem->text();
  out.skipped = describe_skipped(parser.facts());
  CHECK(parser.facts().requests == requests);
  return out;
}

void deal(const std::vector<TraceCell>& cells) {
  constexpr std::uint64_t kRequestsMax = 10'000;
  TraceArrivals arrivals{1};
  Duration before{0};
  std::uint64_t wanted = 0;
  std::uint64_t dealt = 0;
  const auto drain = [&] {
    while (const auto arrival = arrivals.next()) {
      CHECK(arrival->at >= before);
      before = arrival->at;
      ++dealt;
    }
  };
  for (const TraceCell& cell : cells) {
    if (wanted + cell.count > kRequestsMax) continue;
    wanted += cell.count;
    arrivals.add(cell);
    drain();
  }
  arrivals.end();
  drain();
  CHECK(dealt == wanted);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes = sluice::fuzz::text_of(data, size);
  std::vector<TraceCell> cells;
  const Reading whole = read(bytes, size + 1, cells);
  for (const std::size_t step : {std::size_t{1}, std::size_t{7}}) {
    std::vector<TraceCell> again;
    CHECK(read(bytes, step, again) == whole);
  }
  deal(cells);
  return 0;
}
