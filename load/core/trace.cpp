#include "load/core/trace.h"

namespace sluice::loadgen {

namespace {

constexpr std::array kFormats{TraceFormat::csv, TraceFormat::azure2019, TraceFormat::sluice};

const char* phrase_of(Skip skip) {
  switch (skip) {
    case Skip::fields:
      return "with other fields than the format has";
    case Skip::time:
      return "without a valid time";
    case Skip::number:
      return "with a figure that is none or is out of range";
    case Skip::order:
      return "more than 10 s before a line above";
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
    case TraceFormat::azure2019:
      return "azure2019";
    case TraceFormat::sluice:
      return "sluice";
  }
  return "";
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
  std::string text;
  for (std::size_t i = 0; i < kSkips; ++i) {
    const TraceFacts::Skipped& skipped = facts.skipped[i];
    if (skipped.lines == 0) continue;
    text += (text.empty() ? "" : ", ") + std::to_string(skipped.lines) +
            (skipped.lines == 1 ? " line " : " lines ") + phrase_of(static_cast<Skip>(i)) +
            " (the first: " + std::to_string(skipped.first) + ")";
  }
  return text;
}

}  // namespace sluice::loadgen
