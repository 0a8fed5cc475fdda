#include "load/core/trace.h"

namespace sluice::loadgen {

namespace {

// Those that a name may end with: of an access log in a format of its own that has to be given.
constexpr std::array kFormats{TraceFormat::csv,       TraceFormat::combined, TraceFormat::common,
                              TraceFormat::jsonl,     TraceFormat::har,      TraceFormat::azure2019,
                              TraceFormat::azure2021, TraceFormat::sluice};

const char* phrase_of(Skip skip, TraceFormat format) {
  switch (skip) {
    case Skip::fields:
      return "with other fields than the format has";
    case Skip::request:
      return "without a request of HTTP";
    case Skip::time:
      return "without a valid time";
    case Skip::number:
      return "with a figure that is none or is out of range";
    case Skip::order:
      return order_kept(format) == kOrderKept ? "more than 10 s before a line above"
                                              : "more than an hour before one above";
    case Skip::trigger:
      return "with another trigger";
  }
  return "";
}

}  // namespace

std::string_view name_of(TraceFormat format) {
  switch (format) {
    case TraceFormat::csv:
      return "csv";
    case TraceFormat::combined:
      return "combined";
    case TraceFormat::common:
      return "common";
    case TraceFormat::log:
      return "log";
    case TraceFormat::jsonl:
      return "jsonl";
    case TraceFormat::har:
      return "har";
    case TraceFormat::azure2019:
      return "azure2019";
    case TraceFormat::azure2021:
      return "azure2021";
    case TraceFormat::sluice:
      return "sluice";
  }
  return "";
}

Duration order_kept(TraceFormat format) {
  switch (format) {
    case TraceFormat::log:
    case TraceFormat::jsonl:
    case TraceFormat::har:
    case TraceFormat::azure2021:
      return std::chrono::hours{1};
    case TraceFormat::csv:
    case TraceFormat::combined:
    case TraceFormat::common:
    case TraceFormat::azure2019:
    case TraceFormat::sluice:
      return kOrderKept;
  }
  return kOrderKept;
}

TraceName parse_trace_name(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  if (colon != std::string_view::npos && colon > 0) {
    for (const TraceFormat format : kFormats) {
      if (text.substr(colon + 1) == name_of(format))
        return {std::string{text.substr(0, colon)}, format};
    }
  }
  return {std::string{text}, std::nullopt};
}

std::string format_names() {
  std::string names;
  for (const TraceFormat format : kFormats)
    names += (names.empty() ? "" : ", ") + std::string{name_of(format)};
  return names;
}

std::string durations_file_of(std::string_view file) {
  constexpr std::string_view kCounts = "invocations_per_function";
  constexpr std::string_view kMemoryDuration = "_md";
  const std::size_t slash = file.rfind('/');
  const std::size_t name = slash == std::string_view::npos ? 0 : slash + 1;
  std::string_view rest = file.substr(name);
  if (!rest.starts_with(kCounts)) return {};
  rest.remove_prefix(kCounts.size());
  if (rest.starts_with(kMemoryDuration)) rest.remove_prefix(kMemoryDuration.size());
  return std::string{file.substr(0, name)} + "function_durations_percentiles" + std::string{rest};
}

std::string describe_skipped(const TraceFacts& facts) {
  const bool entries = facts.format == TraceFormat::har;
  std::string text;
  for (std::size_t i = 0; i < kSkips; ++i) {
    const TraceFacts::Skipped& skipped = facts.skipped[i];
    if (skipped.lines == 0) continue;
    text += (text.empty() ? "" : ", ") + std::to_string(skipped.lines) +
            (entries ? (skipped.lines == 1 ? " entry " : " entries ")
                     : (skipped.lines == 1 ? " line " : " lines ")) +
            phrase_of(static_cast<Skip>(i), facts.format) +
            " (the first: " + std::to_string(skipped.first) + ")";
  }
  return text;
}

}  // namespace sluice::loadgen
