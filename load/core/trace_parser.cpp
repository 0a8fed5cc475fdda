#include "load/core/trace_parser.h"

#include "common/base/clean_text.h"

#include <utility>

namespace sluice::loadgen {

namespace {

constexpr std::string_view kGzip = "\x1f\x8b";

// Names all of them, which is what a person looks for who has another.
constexpr const char* kKnownFormats =
    "give csv with a column time or at_s, an access log, JSON lines, HAR, azure2019, azure2021 or "
    "a "
    "recording, or name it like FILE:csv";

std::string quoted(std::string_view line) {
  return "'" + clean_text(line.substr(0, 60)) + "'";
}

// What a trace is that begins with `line`.
std::optional<TraceFormat> guess(std::string_view line) {
  if (RecordingTrace::is_header(line)) return TraceFormat::sluice;
  if (HarTrace::begins(line).value_or(false)) return TraceFormat::har;
  if (AzureTrace::is_header(line)) return TraceFormat::azure2019;
  if (Azure2021Trace::is_header(line)) return TraceFormat::azure2021;
  if (JsonTrace::is_line(line)) return TraceFormat::jsonl;
  if (CsvTrace::is_header(line)) return TraceFormat::csv;
  return AccessLogTrace::format_of(line);
}

// A line of `combined` is one of `common` as well.
bool reads(TraceFormat wanted, TraceFormat looks) {
  return wanted == looks || (wanted == TraceFormat::common && looks == TraceFormat::combined);
}

}  // namespace

TraceParser::TraceParser(TraceOptions options) : options_{std::move(options)} {
  if (options_.log_format) options_.format = TraceFormat::log;
  if (options_.fields) options_.format = TraceFormat::jsonl;
  if (!options_.format || options_.format == TraceFormat::har) begun_.emplace();
}

std::optional<Problem> TraceParser::feed(std::string_view piece, const CellSink& sink) {
  const CellSink counted = counting(sink);
  if (!begun_) return pass(piece, counted);
  begun_->append(piece);
  const auto har = HarTrace::begins(*begun_);
  if (!har && begun_->size() <= kTraceLineMax) return std::nullopt;
  return begin(har.value_or(false), counted);
}

std::optional<Problem> TraceParser::finish(const CellSink& sink) {
  const CellSink counted = counting(sink);
  if (begun_) {
    // Too short to say: a HAR file that was cut, if it is to be one.
    if (auto problem = begin(options_.format == TraceFormat::har, counted)) return problem;
  }
  auto problem = lines_.finish([&](std::string_view line) { return take_line(line, counted); });
  if (problem) return problem;
  if (auto* const har = std::get_if<HarTrace>(&trace_)) {
    if (auto cut = har->finish(counted)) return cut;
  }
  if (PlacedCells* const cells = placed()) cells->finish(counted);
  if (facts_.requests > 0) return std::nullopt;
  const std::string skipped = describe_skipped(facts_);
  const bool unknown = facts_.format == TraceFormat::jsonl && !options_.fields &&
                       facts_.skipped[static_cast<std::size_t>(Skip::request)].lines > 0;
  return Problem{"no request in it" + (skipped.empty() ? "" : ": " + skipped),
                 unknown           ? "say where the time is, with --fields time=MEMBER,… of "
                                     "sluice trace convert"
                 : skipped.empty() ? "give a trace of requests"
                                   : "check these lines"};
}

CellSink TraceParser::counting(const CellSink& sink) {
  return [this, &sink](const TraceCell& cell) {
    facts_.requests += cell.count;
    sink(cell);
  };
}

// Reads on with the bytes that were kept.
std::optional<Problem> TraceParser::begin(bool har, const CellSink& sink) {
  const std::string begun = *std::exchange(begun_, std::nullopt);
  std::string_view bytes = begun;
  if (har) {
    facts_.format = TraceFormat::har;
    trace_.emplace<HarTrace>();
    if (bytes.starts_with(kByteOrderMark)) bytes.remove_prefix(kByteOrderMark.size());
  }
  return pass(bytes, sink);
}

std::optional<Problem> TraceParser::pass(std::string_view piece, const CellSink& sink) {
  auto* const har = std::get_if<HarTrace>(&trace_);
  if (har == nullptr) {
    return lines_.feed(piece, [&](std::string_view line) { return take_line(line, sink); });
  }
  auto problem = har->feed(piece, sink, [&](Skip skip) { count(skip, har->entries()); });
  facts_.lines = har->entries();
  facts_.origin = har->cells().origin();
  return problem;
}

void TraceParser::count(Skip skip, std::uint64_t number) {
  TraceFacts::Skipped& skipped = facts_.skipped[static_cast<std::size_t>(skip)];
  if (++skipped.lines == 1) skipped.first = number;
}

std::optional<Problem> TraceParser::take_line(std::string_view line, const CellSink& sink) {
  facts_.lines = lines_.number();
  if (std::holds_alternative<std::monostate>(trace_)) {
    if (auto problem = open(line)) return problem;
    if (has_header()) return std::nullopt;
  } else if (lines_.is_cut() && !std::holds_alternative<RecordingTrace>(trace_)) {
    return too_long_line();
  }
  if (const auto skip = read_line(line, sink)) count(*skip, lines_.number());
  return std::nullopt;
}

std::optional<Skip> TraceParser::read_line(std::string_view line, const CellSink& sink) {
  std::optional<Skip> skip;
  if (auto* const recording = std::get_if<RecordingTrace>(&trace_)) {
    if (!lines_.is_cut()) skip = recording->read(line, sink);
    facts_.origin = recording->origin();
  } else if (auto* const csv = std::get_if<CsvTrace>(&trace_)) {
    skip = csv->read(line, sink);
  } else if (auto* const log = std::get_if<AccessLogTrace>(&trace_)) {
    skip = log->read(line, sink);
  } else if (auto* const json = std::get_if<JsonTrace>(&trace_)) {
    skip = json->read(line, sink);
    facts_.written_by = json->written_by();
  } else if (auto* const azure = std::get_if<AzureTrace>(&trace_)) {
    skip = azure->read(line, sink);
  } else if (auto* const invocations = std::get_if<Azure2021Trace>(&trace_)) {
    skip = invocations->read(line, sink);
  }
  if (const PlacedCells* const cells = placed()) facts_.origin = cells->origin();
  return skip;
}

// Those of the formats that read request by request; null: of the others.
PlacedCells* TraceParser::placed() {
  if (auto* const csv = std::get_if<CsvTrace>(&trace_)) return &csv->cells();
  if (auto* const log = std::get_if<AccessLogTrace>(&trace_)) return &log->cells();
  if (auto* const json = std::get_if<JsonTrace>(&trace_)) return &json->cells();
  if (auto* const azure = std::get_if<Azure2021Trace>(&trace_)) return &azure->cells();
  return nullptr;
}

// Whether the first line is none of a request.
bool TraceParser::has_header() const {
  return !std::holds_alternative<AccessLogTrace>(trace_) &&
         !std::holds_alternative<JsonTrace>(trace_);
}

Result<TraceFormat, Problem> TraceParser::format_of(std::string_view line) const {
  if (line.starts_with(kGzip)) return Problem{"it is compressed", "unpack it first, with gunzip"};
  std::optional<TraceFormat> looks;
  if (!options_.log_format && !options_.fields) looks = guess(line);
  if (lines_.is_cut() && looks != TraceFormat::sluice) return too_long_line();
  if (!options_.format) {
    if (looks) return *looks;
    return Problem{"no known format begins with " + quoted(line), kKnownFormats};
  }
  const std::string wanted{name_of(*options_.format)};
  if (looks && !reads(*options_.format, *looks)) {
    return Problem{"it looks like " + std::string{name_of(*looks)} + ", not like " + wanted,
                   "leave out :" + wanted + " or give another file"};
  }
  if (options_.format == TraceFormat::har) {
    return Problem{"it does not begin like a HAR file, with {\"log\":{",
                   "give what a browser exports as HAR"};
  }
  return *options_.format;
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
    case TraceFormat::combined:
      trace_.emplace<AccessLogTrace>(LogFormat::combined(), *format);
      return std::nullopt;
    case TraceFormat::common:
      trace_.emplace<AccessLogTrace>(LogFormat::common(), *format);
      return std::nullopt;
    case TraceFormat::log:
      trace_.emplace<AccessLogTrace>(*options_.log_format, *format);
      return std::nullopt;
    case TraceFormat::jsonl:
      trace_.emplace<JsonTrace>(options_.fields);
      return std::nullopt;
    case TraceFormat::har:  // has no lines: begin()
      return std::nullopt;
    case TraceFormat::azure2019:
      return keep(AzureTrace::open(line, options_.trigger, options_.durations));
    case TraceFormat::azure2021:
      return keep(Azure2021Trace::open(line));
    case TraceFormat::sluice:
      return keep(RecordingTrace::open(line));
  }
  return std::nullopt;
}

}  // namespace sluice::loadgen
