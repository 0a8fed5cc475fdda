#include "load/core/trace_parser.h"

#include "common/base/clean_text.h"

namespace sluice::loadgen {

namespace {

constexpr std::string_view kGzip = "\x1f\x8b";

// Names all three, which is what a person looks for who has a fourth.
constexpr const char* kKnownFormats =
    "give csv with a column time or at_s, azure2019 or a recording, or name it like FILE:csv";

}  // namespace

std::optional<Problem> TraceParser::feed(std::string_view piece, const CellSink& sink) {
  const CellSink counted = counting(sink);
  return lines_.feed(piece, [&](std::string_view line) { return take_line(line, counted); });
}

std::optional<Problem> TraceParser::finish(const CellSink& sink) {
  const CellSink counted = counting(sink);
  auto problem = lines_.finish([&](std::string_view line) { return take_line(line, counted); });
  if (problem) return problem;
  if (auto* const csv = std::get_if<CsvTrace>(&trace_)) csv->finish(counted);
  if (facts_.requests > 0) return std::nullopt;
  const std::string skipped = describe_skipped(facts_);
  return Problem{"no request in it" + (skipped.empty() ? "" : ": " + skipped),
                 skipped.empty() ? "give a trace of requests" : "check these lines"};
}

CellSink TraceParser::counting(const CellSink& sink) {
  return [this, &sink](const TraceCell& cell) {
    facts_.requests += cell.count;
    sink(cell);
  };
}

std::optional<Problem> TraceParser::take_line(std::string_view line, const CellSink& sink) {
  facts_.lines = lines_.number();
  if (std::holds_alternative<std::monostate>(trace_)) return open(line);
  std::optional<Skip> skip;
  if (auto* const recording = std::get_if<RecordingTrace>(&trace_)) {
    if (!lines_.is_cut()) skip = recording->read(line, sink);
    facts_.origin = recording->origin();
  } else if (lines_.is_cut()) {
    return too_long_line();
  } else if (auto* const csv = std::get_if<CsvTrace>(&trace_)) {
    skip = csv->read(line, sink);
    facts_.origin = csv->origin();
  } else if (auto* const azure = std::get_if<AzureTrace>(&trace_)) {
    skip = azure->read(line, sink);
  }
  if (!skip) return std::nullopt;
  TraceFacts::Skipped& skipped = facts_.skipped[static_cast<std::size_t>(*skip)];
  if (++skipped.lines == 1) skipped.first = lines_.number();
  return std::nullopt;
}

Result<TraceFormat, Problem> TraceParser::format_of(std::string_view line) const {
  if (line.starts_with(kGzip)) return Problem{"it is compressed", "unpack it first, with gunzip"};
  if (lines_.is_cut() && !RecordingTrace::is_header(line)) return too_long_line();
  if (options_.format) return *options_.format;
  if (RecordingTrace::is_header(line)) return TraceFormat::sluice;
  if (AzureTrace::is_header(line)) return TraceFormat::azure2019;
  if (CsvTrace::is_header(line)) return TraceFormat::csv;
  return Problem{"no known format begins with '" + clean_text(line.substr(0, 60)) + "'",
                 kKnownFormats};
}

// The first line says what the others are.
std::optional<Problem> TraceParser::open(std::string_view line) {
  const auto format = format_of(line);
  if (!format) return format.error();
  facts_.format = *format;
  const auto keep = [this](auto trace) -> std::optional<Problem> {
    if (!trace) return trace.error();
    trace_ = *std::move(trace);
    return std::nullopt;
  };
  switch (*format) {
    case TraceFormat::csv:
      return keep(CsvTrace::open(line));
    case TraceFormat::azure2019:
      return keep(AzureTrace::open(line, options_.trigger, options_.durations));
    case TraceFormat::sluice:
      return keep(RecordingTrace::open(line));
  }
  return std::nullopt;
}

}  // namespace sluice::loadgen
