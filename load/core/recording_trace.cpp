#include "load/core/recording_trace.h"

#include "common/base/clean_text.h"
#include "common/values/json_walk.h"
#include "common/values/whole_number.h"

#include "load/core/trace_time.h"
#include <algorithm>
#include <string>

namespace sluice::loadgen {

namespace {

constexpr std::string_view kFormat = R"("format":"sluice-recording/)";
constexpr std::string_view kVersion = "1\"";
constexpr Duration kPeriod = std::chrono::seconds{1};
constexpr std::int64_t kNanosecondsMax = 7'258'118'400'000'000'000;  // 2200-01-01

}  // namespace

bool RecordingTrace::is_header(std::string_view line) {
  return line.starts_with('{') && line.find(kFormat) != std::string_view::npos;
}

Result<RecordingTrace, Problem> RecordingTrace::open(std::string_view header) {
  if (!is_header(header)) {
    return Problem{"it is not the first line of a recording",
                   "give a file that sluice record wrote"};
  }
  const std::string_view version = header.substr(header.find(kFormat) + kFormat.size());
  if (!version.starts_with(kVersion)) {
    return Problem{"a recording of the format sluice-recording/" +
                       clean_text(version.substr(0, std::min<std::size_t>(version.find('"'), 20))),
                   "this sluice reads sluice-recording/1: use the one that wrote it"};
  }
  RecordingTrace trace;
  trace.cell_.length = kPeriod;
  return trace;
}

std::optional<Skip> RecordingTrace::read(std::string_view line, const CellSink& sink) {
  bool traffic = false;
  bool poke = false;
  std::optional<std::int64_t> total;
  std::optional<std::int64_t> at;
  std::optional<std::uint64_t> arrivals;
  std::string_view service;
  std::string_view tenths;
  JsonWalk walk{line};
  while (const auto step = walk.next()) {
    if (step->key == "type") traffic = plain_string(step->value) == "traffic";
    if (step->key == "at_ns") {
      at = whole_number<std::int64_t>(step->value, kPeriod.count(), kNanosecondsMax);
    }
    if (step->key == "arrivals") {
      arrivals = whole_number<std::uint64_t>(step->value, 0, kCellRequestsMax);
    }
    if (step->key == "trigger") poke = plain_string(step->value) == "poke";
    if (step->key == "service_ms") service = step->value;
    if (step->key == "tenths") tenths = step->value;
    if (step->key == "service_total_ns") {
      total = whole_number<std::int64_t>(step->value, 0, kNanosecondsMax);
    }
  }
  if (!walk.whole()) return Skip::fields;
  if (poke && at) woken_ = TimePoint{Duration{*at}};
  if (!traffic) return std::nullopt;
  if (!at) return Skip::time;
  if (!arrivals || !read_service(service, total) || !read_tenths(tenths, *arrivals)) {
    return Skip::number;
  }
  const TimePoint begin{Duration{*at} - kPeriod};
  if (!origin_) origin_ = newest_ = begin;
  if (begin + kOrderKept < newest_) return Skip::order;
  newest_ = std::max(newest_, begin);
  emit(begin, begin + kPeriod, *arrivals, sink);
  woken_.reset();
  return std::nullopt;
}

// The request that woke the service came before all others of its second.
void RecordingTrace::emit(TimePoint begin, TimePoint end, std::uint64_t arrivals,
                          const CellSink& sink) {
  const bool woken = woken_ && *woken_ >= begin && *woken_ < end && arrivals > 0;
  if (woken) {
    emit_cell(*woken_, *woken_, 1, sink);
    --arrivals;
    auto* const first =
        std::find_if(tenths_.begin(), tenths_.end(), [](std::uint64_t count) { return count > 0; });
    if (first != tenths_.end()) --*first;
  }
  const bool in_tenths =
      std::any_of(tenths_.begin(), tenths_.end(), [](std::uint64_t count) { return count > 0; });
  const Duration tenth = kPeriod / tenths_.size();
  for (std::size_t i = 0; i < tenths_.size(); ++i) {
    const TimePoint from = begin + tenth * static_cast<std::int64_t>(i);
    emit_cell(woken ? std::max(from, *woken_) : from,
              std::max(from + tenth, woken ? *woken_ : from), tenths_[i], sink);
    arrivals -= std::min(arrivals, tenths_[i]);
  }
  // What was still there at the end came no earlier than it takes.
  const bool timed = !cell_.service_times.empty();
  const Duration usual =
      in_tenths && timed ? std::min(cell_.service_times.mean(), kPeriod) : kPeriod;
  emit_cell(std::max(end - usual, woken ? *woken_ : begin), end, arrivals, sink);
}

void RecordingTrace::emit_cell(TimePoint begin, TimePoint end, std::uint64_t arrivals,
                               const CellSink& sink) {
  if (arrivals == 0) return;
  cell_.at = std::max(begin - *origin_, Duration::zero());
  cell_.length = std::max(end - begin, Duration::zero());
  cell_.count = arrivals;
  sink(cell_);
}

bool RecordingTrace::read_tenths(std::string_view counts, std::uint64_t arrivals) {
  tenths_ = {};
  if (counts.empty()) return true;
  std::uint64_t all = 0;
  std::size_t i = 0;
  JsonWalk walk{counts};
  while (const auto step = walk.next()) {
    const auto count = whole_number<std::uint64_t>(step->value, 0, kCellRequestsMax);
    if (!count || i == tenths_.size()) return false;
    tenths_[i++] = *count;
    all += *count;
  }
  if (all > arrivals) tenths_ = {};  // a request came between both counts
  return walk.whole();
}

// A second in which no request ended is not known to have other times than the one before.
bool RecordingTrace::read_service(std::string_view limits, std::optional<std::int64_t> total_ns) {
  if (limits.empty()) return true;
  limits_.clear();
  std::uint64_t all = 0;
  JsonWalk walk{limits};
  while (const auto step = walk.next()) {
    JsonWalk pair{step->value};
    const auto took = pair.next();
    const auto count = pair.next();
    if (!took || !count || pair.next() || !pair.whole()) return false;
    const auto longest = read_span(took->value, std::chrono::milliseconds{1});
    const auto requests = whole_number<std::uint64_t>(count->value, 1, kCellRequestsMax);
    if (!longest || !requests) return false;
    limits_.emplace_back(*longest, *requests);
    all += *requests;
  }
  if (!walk.whole()) return false;
  if (all == 0) return true;
  cell_.service_times.clear();
  std::uint64_t sum = 0;
  for (const auto& [longest, requests] : limits_) {
    sum += requests;
    cell_.service_times.add(static_cast<double>(sum) / static_cast<double>(all), longest);
  }
  if (total_ns) {
    cell_.service_times.scale_to(Duration{*total_ns / static_cast<std::int64_t>(all)});
  }
  return true;
}

}  // namespace sluice::loadgen
