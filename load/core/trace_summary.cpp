#include "load/core/trace_summary.h"

#include "common/values/rfc3339.h"

#include "load/core/quantity.h"
#include "load/core/segment.h"
#include <algorithm>
#include <cmath>
#include <utility>

namespace sluice::loadgen {

namespace {

constexpr Duration kSecond = std::chrono::seconds{1};
constexpr Duration kReplayMax = std::chrono::hours{24};

std::string field(std::string name, const std::string& text) {
  constexpr std::size_t kWidth = 12;
  name.resize(kWidth, ' ');
  return name + text + "\n";
}

std::string requests_text(std::uint64_t count) {
  return grouped(count) + (count == 1 ? " request" : " requests");
}

std::string format_text(const TraceFacts& facts) {
  std::string text{name_of(facts.format)};
  if (!facts.written_by.empty()) text.append(" of ").append(facts.written_by);
  return text;
}

std::string span_text(const TraceFacts& facts, const TraceSummary& summary) {
  std::string text = spoken(summary.end());
  if (facts.origin) text += " from " + rfc3339(*facts.origin, Fraction::milliseconds);
  if (summary.first() >= kSecond) text += ", the first request after " + spoken(summary.first());
  return text;
}

}  // namespace

void TraceSummary::add(const TraceCell& cell) {
  if (!part_.covers(cell)) return;
  if (requests_ == 0) period_ = std::max(kSecond, cell.length);
  requests_ += cell.count;
  if (!sent_as(cell.method, part_.methods)) left_out_ += cell.count;
  if (cell.duration || !cell.service_times.empty()) with_duration_ += cell.count;
  resolution_ = std::max(resolution_, cell.length);
  first_ = std::min(first_.value_or(cell.at), cell.at);
  end_ = std::max(end_, cell.at + cell.length);
  const std::int64_t number = cell.at / period_;
  std::uint64_t& count = counts_[number];
  count += cell.count;
  if (count > busiest_.requests) busiest_ = {number * period_, count};
  // Cells go back by an hour at most, which is less; those of azure2019 are all kept.
  if (counts_.size() > kPeriodsKept) counts_.erase(counts_.begin());
}

std::vector<TraceCell> TraceSummary::periods() const {
  std::vector<TraceCell> cells(counts_.size());
  auto cell = cells.begin();
  for (const auto& [number, count] : counts_) {
    cell->at = number * period_;
    cell->length = period_;
    cell->count = count;
    ++cell;
  }
  return cells;
}

std::string trace_text(const TraceFacts& facts, const TraceSummary& summary) {
  const std::string skipped = describe_skipped(facts);
  const TraceSummary::Busiest& busiest = summary.busiest();
  std::string text =
      field("format", format_text(facts)) + field("requests", grouped(summary.requests())) +
      field("span", span_text(facts, summary)) +
      field("busiest", requests_text(busiest.requests) + " in " + spoken(summary.period()) +
                           ", from " + spoken(busiest.at) + " on");
  const bool exact = summary.resolution() == Duration::zero();
  text += field("resolution", exact ? "exact" : spoken(summary.resolution()));
  text +=
      field("durations",
            summary.with_duration() == 0 ? "none" : "of " + requests_text(summary.with_duration()));
  if (summary.left_out() > 0) {
    text += field("left out", "by sluice load --replay: " + requests_text(summary.left_out()) +
                                  " with other methods than GET, HEAD and OPTIONS");
  }
  return text + field("skipped", skipped.empty() ? "nothing" : skipped);
}

std::optional<Problem> complete(Replay& replay, const TraceFacts& facts,
                                const TraceSummary& summary) {
  const std::uint64_t sent = summary.requests() - summary.left_out();
  if (summary.requests() == 0) {
    return Problem{"--replay has no request in the part that --from and --until leave",
                   "see the span of the trace: sluice trace info FILE"};
  }
  if (sent == 0) {
    const bool safe = replay.part.methods == Methods::safe;
    return Problem{std::string{"--replay has no request with "} +
                       (safe ? "GET, HEAD or OPTIONS" : "a known method") +
                       ", and others are not sent",
                   safe ? "give a trace that has some, or --unsafe" : "give a trace that has some"};
  }
  const double length = to_seconds(summary.end() - replay.part.from) / replay.speed;
  if (length > to_seconds(kReplayMax)) {
    return Problem{"--replay lasts longer than a day", "give a shorter trace or a higher --speed"};
  }
  // At less than the recorded speed too: a cell has to be one that a trace can have.
  const double busiest = static_cast<double>(summary.busiest().requests) *
                         static_cast<double>(replay.times) / to_seconds(summary.period());
  if (busiest * std::max(replay.speed, 1.0) > kRateMax) {
    return Problem{"--replay has more than 1000000 requests in a second",
                   "give a lower --times or --speed"};
  }
  replay.format = facts.format;
  replay.requests = sent * replay.times;
  replay.left_out = summary.left_out();
  replay.length = from_seconds(length);
  replay.resolution = summary.resolution();
  replay.skipped = describe_skipped(facts);
  return std::nullopt;
}

}  // namespace sluice::loadgen
