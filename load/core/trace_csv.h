#pragma once

#include "common/time/time_point.h"

#include "load/core/trace_arrivals.h"
#include <optional>
#include <string>
#include <string_view>

// The format `csv`, written.
namespace sluice::loadgen {

/// The header line. `dated`: the trace has dates, and the first column is `time`, else `at_s`.
[[nodiscard]] std::string_view csv_header(bool dated);

/// Appends a field: in quotes where it has to be, with blanks for ends of lines.
void append_csv_field(std::string& out, std::string_view text);

/// Appends the line of a request, its time to the microsecond. `origin`: where times count from;
/// absent: the trace has no dates.
void append_csv(std::string& out, const TraceArrival& arrival, std::optional<TimePoint> origin);

}  // namespace sluice::loadgen
