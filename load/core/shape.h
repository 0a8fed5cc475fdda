#pragma once

#include "common/base/result.h"

#include "load/core/segment.h"
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::loadgen {

inline constexpr std::size_t kShapeItemsMax = 1000;

/// Where the text of a shape is from.
struct ShapeSource {
  std::string name = "--shape";  ///< for problems
  bool has_columns = true;       ///< a person wrote the whole text: problems name the column
  double rate_before = 0;        ///< for a spike that comes first
};

/// Reads a `--shape` (one-machine.md 9): items joined by commas, which run in turn, at most
/// kShapeItemsMax. R, A, B, LOW and HIGH are requests per second from 0 to kRateMax, D and PERIOD
/// durations above 0 and up to a day.
///
///     [step] R:D             one rate
///     ramp A-B:D             from A to B by the same difference each second
///     exp A-B:D              from A to B by the same factor each second; both at least 0.001
///     sine LOW-HIGH/PERIOD:D a wave that starts with LOW
///     spike R:D              up to R by half of D, then back to the rate before it, in lines
///     day LOW-HIGH:D         a day from midnight to midnight squeezed into D (load/README.md)
///     pause D                no arrivals
///
/// The problem names the column, from 1, and a form that is right.
[[nodiscard]] Result<std::vector<Segment>, Problem> parse_shape(std::string_view text,
                                                                const ShapeSource& source = {});

}  // namespace sluice::loadgen
