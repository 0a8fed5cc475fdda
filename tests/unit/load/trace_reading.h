#pragma once

#include <gtest/gtest.h>

#include "load/core/quantity.h"
#include "load/core/trace_parser.h"
#include <string>
#include <string_view>

// What the tests of the formats of traces have in common.
namespace sluice::loadgen {

/// A cell as `1500+1000 x3 service host method path 12.5ms 200 64B`; what it lacks is left out.
inline std::string shown(const TraceCell& cell) {
  std::string text = plain(to_seconds(cell.at) * 1e3) + "+" + plain(to_seconds(cell.length) * 1e3) +
                     " x" + std::to_string(cell.count);
  for (const std::string* part : {&cell.service, &cell.host, &cell.method, &cell.path}) {
    if (!part->empty()) text += " " + *part;
  }
  if (cell.duration) text += " " + plain(to_seconds(*cell.duration) * 1e3) + "ms";
  if (!cell.service_times.empty()) {
    text += " p50=" + plain(to_seconds(cell.service_times.at(0.5)) * 1e3) + "ms";
  }
  if (cell.status) text += " " + std::to_string(*cell.status);
  if (cell.body_bytes) text += " " + std::to_string(*cell.body_bytes) + "B";
  return text;
}

/// What a parser has made of a whole trace.
struct Read {
  std::string cells;  ///< joined by `; `
  std::string problem;
  TraceFacts facts;

  [[nodiscard]] std::string skipped() const { return describe_skipped(facts); }
};

/// Reads a trace that comes in pieces of `step` bytes.
inline Read read(std::string_view text, const TraceOptions& options = {},
                 std::size_t step = 1 << 20) {
  Read out;
  TraceParser parser{options};
  const auto sink = [&out](const TraceCell& cell) {
    out.cells += (out.cells.empty() ? "" : "; ") + shown(cell);
  };
  std::optional<Problem> problem;
  while (!problem && !text.empty()) {
    const std::string_view piece = text.substr(0, step);
    text.remove_prefix(piece.size());
    problem = parser.feed(piece, sink);
  }
  if (!problem) problem = parser.finish(sink);
  if (problem) out.problem = problem->text();
  out.facts = parser.facts();
  return out;
}

/// Reads it whole, and cut at every size: what comes of it does not depend on how the bytes come.
inline Read read_in_every_cut(std::string_view text, const TraceOptions& options = {}) {
  const Read whole = read(text, options);
  for (const std::size_t step : {1U, 2U, 7U, 64U}) {
    const Read cut = read(text, options, step);
    EXPECT_EQ(cut.cells, whole.cells) << step;
    EXPECT_EQ(cut.problem, whole.problem) << step;
    EXPECT_EQ(cut.skipped(), whole.skipped()) << step;
  }
  return whole;
}

}  // namespace sluice::loadgen
