#include "load/core/run_reader.h"

#include "common/base/clean_text.h"

#include "load/core/compact_histogram.h"
#include "load/core/json_text.h"
#include "load/core/quantity.h"
#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace sluice::loadgen {

namespace {

constexpr double kSchema = 1;
constexpr double kLongest = 4 * 86'400;  // a run of a day and what follows it

// What makes a plan, of those below `plan`, `targets[]` and `phases[]`.
constexpr std::array<std::string_view, 36> kPlanned{
    "plan.loop",
    "plan.timeout_ms",
    "plan.warmup_s",
    "plan.duration_s",
    "plan.count",
    "plan.connections",
    "plan.reuse",
    "plan.arrivals",
    "plan.seed",
    "plan.url",
    "plan.method",
    "plan.body_bytes",
    "plan.protocol",
    "plan.shape",
    "plan.segments[].rate",
    "plan.segments[].for_s",
    "plan.segments[].to",
    "plan.segments[].curve",
    "plan.segments[].period_s",
    "plan.replay.format",
    "plan.replay.speed",
    "plan.replay.times",
    "plan.replay.requests",
    "targets[].name",
    "targets[].url",
    "targets[].method",
    "targets[].body_bytes",
    "targets[].protocol",
    "phases[].name",
    "phases[].for_s",
    "phases[].segments[].rate",
    "phases[].segments[].to",
    "phases[].segments[].curve",
    "phases[].replay.requests",
    "phases[].replay.speed",
    "phases[].mix[]",
};

struct Place {
  std::string_view place;
  Figure figure;
  double unit;
};

constexpr std::array<Place, 11> kFigurePlaces{
    {{"latency_ms.p50", Figure::p50, 1e-3},
     {"latency_ms.p90", Figure::p90, 1e-3},
     {"latency_ms.p99", Figure::p99, 1e-3},
     {"latency_ms.p99_9", Figure::p99_9, 1e-3},
     {"latency_ms.max", Figure::max, 1e-3},
     {"errors.rate", Figure::error_rate, 1},
     {"generator.rate_achieved", Figure::rate, 1},
     {"scaling.cold_start_ms.p95", Figure::cold_start, 1e-3},
     {"scaling.replicas_max", Figure::replicas_max, 1},
     {"scaling.replicas_seconds", Figure::replica_seconds, 1},
     {"scaling.time_to_zero_s", Figure::time_to_zero, 1}}};

// Of a count, a time or a rate; nothing for null and for what is none.
std::optional<double> number_of(std::string_view value) {
  const std::size_t exponent = value.find_first_of("eE");
  const auto digits = parse_number(value.substr(0, exponent));
  if (!digits || exponent == std::string_view::npos) return digits;
  std::string_view power = value.substr(exponent + 1);
  const bool below = power.starts_with('-');
  if (below || power.starts_with('+')) power.remove_prefix(1);
  const auto places = parse_number(power);
  if (!places) return std::nullopt;
  return *digits * std::pow(10, below ? -*places : *places);
}

std::uint64_t count_of(std::string_view value) {
  constexpr double kMost = 1e15;
  return static_cast<std::uint64_t>(std::min(number_of(value).value_or(0), kMost));
}

// A text of a report, which may come from anywhere.
std::string shown(std::string_view value, std::string_view otherwise = "") {
  return clean_text(json_text(value).value_or(std::string{otherwise}));
}

// Without the host, which two builds of one service have each of its own.
std::string without_host(const std::string& url) {
  const std::size_t scheme = url.find("://");
  const std::size_t host = scheme == std::string::npos ? 0 : scheme + 3;
  const std::string path = url.substr(std::min(url.find('/', host), url.size()));
  return (scheme == std::string::npos ? "http" : url.substr(0, scheme)) + "://…" +
         (path.empty() ? "/" : path);
}

}  // namespace

std::optional<Problem> RunReader::feed(std::string_view piece) {
  auto wrong = json_.feed(
      piece, [this](std::string_view place, std::string_view value) { take(place, value); });
  if (wrong) return wrong;
  return problem_;
}

Result<ComparedRun, Problem> RunReader::finish() {
  if (auto wrong = json_.finish()) return *std::move(wrong);
  if (!schema_ || !measured_) {
    return Problem{"it is no report of sluice load", "give what --json wrote"};
  }
  if (second_.at) end_second(*second_.at + last_length_);
  run_.blocks = series_.finish();
  // How many a machine lets an open loop have says nothing of the plan.
  if (run_.plan["plan.loop"] != std::vector<std::string>{"closed"}) {
    run_.plan.erase("plan.connections");
  }
  return std::move(run_);
}

void RunReader::take(std::string_view place, std::string_view value) {
  constexpr std::string_view kSeconds = "seconds[]";
  constexpr std::string_view kEnvironment = "environment.";
  if (problem_) return;
  if (place.starts_with(kSeconds)) {
    take_second(place.substr(kSeconds.size()), value);
  } else if (place.starts_with(kEnvironment)) {
    take_environment(place.substr(kEnvironment.size()), value);
  } else if (place == "schema") {
    schema_ = number_of(value);
    if (schema_ && *schema_ != kSchema) {
      problem_ = Problem{"it is a report of schema " + std::string{value.substr(0, 20)} +
                             ", which this sluice does not know",
                         "compare with the sluice that wrote it"};
    }
  } else if (std::find(kPlanned.begin(), kPlanned.end(), place) != kPlanned.end()) {
    take_plan(place, value);
  } else {
    take_figure(place, value);
  }
}

void RunReader::take_plan(std::string_view place, std::string_view value) {
  std::string text = shown(value, "none");
  if (place.ends_with(".url")) text = without_host(text);
  plan_bytes_ += place.size() + text.size();
  if (plan_bytes_ > kPlanBytesMax) {
    problem_ = Problem{"its plan is longer than 4 MiB", "give a report of sluice load"};
    return;
  }
  run_.plan[std::string{place}].push_back(std::move(text));
}

void RunReader::take_figure(std::string_view place, std::string_view value) {
  for (const Place& known : kFigurePlaces) {
    if (place != known.place) continue;
    const auto number = number_of(value);
    if (number) run_.figures[static_cast<std::size_t>(known.figure)] = *number * known.unit;
  }
  if (place == "name") run_.name = shown(value);
  if (place == "started_at") run_.started_at = shown(value);
  if (place == "requests.sent") measured_ = true;
  if (place == "generator.late") run_.late = value == "true";
  if (place == "generator.interrupted") run_.interrupted = value == "true";
}

void RunReader::take_second(std::string_view field, std::string_view value) {
  if (field.empty()) {
    if (value.empty()) end_row();
    return;
  }
  RunBlock& row = row_.counted;
  if (field == ".at_s") {
    const auto at = number_of(value);
    if (at && *at <= kLongest) row_.at = from_seconds(*at);
  } else if (field == ".sent") {
    row.sent = count_of(value);
  } else if (field == ".errors") {
    row.errors = count_of(value);
  } else if (field == ".not_sent") {
    row_.not_sent = count_of(value);
  } else if (field == ".for_s") {
    const auto length = number_of(value);
    if (length && *length <= kLongest) row_.length = from_seconds(*length);
  } else if (field == ".histogram") {
    add_latencies(json_text(value).value_or(""));
  } else if (field == ".max_ms") {
    row.max = from_seconds(std::min(number_of(value).value_or(0) / 1e3, kLongest));
  }
}

void RunReader::add_latencies(const std::string& text) {
  const auto histogram = CompactHistogram::parse(text);
  if (!histogram) {
    problem_ =
        Problem{"a histogram of its seconds: " + histogram.error().what, histogram.error().fix};
    return;
  }
  run_.histograms = true;
  for (const CompactHistogram::Bucket& bucket : histogram->buckets()) {
    const Duration low =
        bucket.index > 0 ? histogram->upper_edge(bucket.index - 1) : Duration::zero();
    row_.counted.latency.push_back({low, histogram->upper_edge(bucket.index), bucket.count});
  }
}

// Rows of one time are of several targets.
void RunReader::end_row() {
  Row row = std::exchange(row_, {});
  if (!row.at) {
    problem_ = Problem{"a row of its seconds has no time", "give what --json wrote"};
    return;
  }
  row.counted.due = std::max(row.counted.sent + row.not_sent, row.counted.errors);
  if (row.length > Duration::zero()) last_length_ = row.length;
  if (!begin_) begin_ = row.at;
  if (!second_.at) {
    second_ = std::move(row);
  } else if (*row.at == *second_.at) {
    add(second_.counted, row.counted);
  } else if (*row.at > *second_.at) {
    end_second(*row.at);
    second_ = std::move(row);
  } else if (*row.at >= *begin_) {
    series_.add(*row.at - *begin_, row.counted);
  }
}

void RunReader::end_second(Duration until) {
  last_length_ = until - *second_.at;
  second_.counted.length = last_length_;
  series_.add(*second_.at - *begin_, second_.counted);
}

void RunReader::take_environment(std::string_view field, std::string_view value) {
  if (field != "host" && field != "kernel" && field != "cpu") return;
  if (!run_.machine.empty()) run_.machine += ", ";
  run_.machine += shown(value);
}

}  // namespace sluice::loadgen
