#pragma once

#include "common/base/result.h"

#include "load/core/trace.h"
#include "load/core/trace_parser.h"
#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

namespace sluice::loadgen {

/// What came of writing a trace as csv.
struct Converted {
  TraceFacts facts;
  std::uint64_t requests = 0;  ///< written
};

/// Takes the next bytes; the problem is that they cannot be written.
using ByteSink = std::function<std::optional<Problem>(std::string_view bytes)>;

/// Writes the requests of a trace as csv, in the order of their times. What is rough in them is
/// dealt out with the seed 1, as a replay does it. A file of azure2019, which has one function
/// after the other, is read several times if it has more counts than CountWindow has room for.
[[nodiscard]] Result<Converted, Problem> convert_trace(const TraceName& name,
                                                       const TraceOptions& options,
                                                       const ByteSink& out);

}  // namespace sluice::loadgen
