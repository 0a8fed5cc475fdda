#pragma once

#include "common/time/time_point.h"

#include "load/core/service_times.h"
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

// What is read from recorded traffic, whatever its format (load/README.md, traces).
namespace sluice::loadgen {

/// A longer line is refused: no format has one, and what is kept of a trace is a line.
inline constexpr std::size_t kTraceLineMax = 64U << 10U;

/// Most requests of one cell: a minute at the highest rate.
inline constexpr std::uint64_t kCellRequestsMax = 60'000'000;

enum class TraceFormat : std::uint8_t {
  csv,        ///< a line per request, with a header line of ours
  combined,   ///< an access log as nginx and Apache write it
  common,     ///< the same without referer and user agent
  log,        ///< an access log of a format that is given with it
  jsonl,      ///< an access log of JSON lines
  har,        ///< what a browser has recorded
  azure2019,  ///< a line per function, with a count per minute
  azure2021,  ///< a line per invocation, with its end
  sluice,     ///< a recording, of which the lines of traffic are read
};

[[nodiscard]] std::string_view name_of(TraceFormat format);

/// How far the times of a format may go back from one request to the next: those of a log are in
/// the order of the answers. Where the time is that of the end, and in a HAR file, by an hour.
[[nodiscard]] Duration order_kept(TraceFormat format);

/// A trace as `FILE[:FORMAT]` names it.
struct TraceName {
  std::string file;
  std::optional<TraceFormat> format;  ///< absent: by the content
};

/// What follows the last colon is the format if it is the name of one, else part of the file.
[[nodiscard]] TraceName parse_trace_name(std::string_view text);

/// Those names, for people: `csv, combined, …`.
[[nodiscard]] std::string format_names();

/// The file of durations that belongs to a file of azure2019 called `invocations_per_function…`, in
/// the same folder; empty for another name.
[[nodiscard]] std::string durations_file_of(std::string_view file);

/// Requests of one kind that began within one cell of time: all that a trace says of when.
struct TraceCell {
  Duration at{0};           ///< since the start of the trace; the beginning of the cell
  Duration length{0};       ///< they began from `at` to before `at + length`; 0: at `at`
  std::uint64_t count = 1;  ///< 1 to kCellRequestsMax
  std::string service;      ///< of azure2019 the function; empty: not said, as all below
  std::string host;
  std::string method;
  std::string path;
  std::optional<Duration> duration;         ///< how long each took
  ServiceTimes service_times;               ///< or how long they took in general
  std::optional<int> status;                ///< 100 to 599
  std::optional<std::uint64_t> body_bytes;  ///< of the request
};

/// Takes cells one by one; a cell is valid during the call.
using CellSink = std::function<void(const TraceCell&)>;

/// Why a line was not used.
enum class Skip : std::uint8_t {
  fields,   ///< not as many fields as the header has, an open quote, not JSON
  request,  ///< no method, or no path or URL of HTTP, where there should be one
  time,     ///< no time, or none of 1970 to 2200
  number,   ///< a figure that is none or is out of range
  order,    ///< more than order_kept() before a line above it
  trigger,  ///< a function with another trigger than the wanted one
};

inline constexpr std::size_t kSkips = 6;

/// What order_kept() is of most formats.
inline constexpr Duration kOrderKept = std::chrono::seconds{10};

/// What was understood of a trace so far.
struct TraceFacts {
  struct Skipped {
    std::uint64_t lines = 0;
    std::uint64_t first = 0;  ///< number of the first such line, from 1
  };

  TraceFormat format = TraceFormat::csv;
  std::string_view written_by;  ///< of jsonl, whose log it is; empty: not known
  std::uint64_t lines = 0;      ///< empty ones and the header included; of a HAR file its entries
  std::uint64_t requests = 0;
  std::optional<TimePoint> origin;  ///< where `at` counts from; absent: the trace has no dates
  std::array<Skipped, kSkips> skipped{};  ///< by Skip
};

/// What was skipped and why, `2 lines without a valid time (the first: 7), …`; empty: nothing.
[[nodiscard]] std::string describe_skipped(const TraceFacts& facts);

}  // namespace sluice::loadgen
