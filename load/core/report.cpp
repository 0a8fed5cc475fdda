#include "load/core/report.h"

#include "load/core/quantity.h"
#include <algorithm>
#include <cmath>
#include <limits>

namespace sluice::loadgen {

namespace {

Duration measured_length(const Report& report) {
  const Duration whole = std::max(report.length - report.plan.warmup, Duration::zero());
  const Duration asked = report.plan.duration.value_or(whole);
  const bool cut = report.interrupted || report.plan.count;
  // A late generator went on sending after the planned end; its rate is over all of that, and not
  // over the wait for the last answers.
  if (is_late(report)) {
    const Duration sending = report.tally.last_taken() - report.plan.warmup;
    return cut ? sending : std::max(asked, sending);
  }
  return cut ? std::min(asked, whole) : asked;
}

// Whether the last request was taken up about when it was due: whatever queued up in a stall was
// made up for by then.
bool kept_rate(const Report& report) {
  constexpr Duration kBehindMax = std::chrono::milliseconds{100};
  const Tally& tally = report.tally;
  const Duration sending = tally.last_planned() - report.plan.warmup;
  const Duration behind = tally.last_taken() - tally.last_planned();
  return tally.unsent() == 0 && behind <= std::min(sending / 100, kBehindMax);
}

std::optional<double> percentile_seconds(const Histogram& times, double percent) {
  if (times.count() == 0) return std::nullopt;
  return to_seconds(times.percentile(percent));
}

// No cold start took no time at all.
double cold_start_seconds(const Report& report, double percent) {
  return percentile_seconds(report.track.cold_start_times(), percent).value_or(0);
}

std::optional<double> time_to_zero_seconds(const Report& report) {
  const auto reached = report.track.time_to_zero(report.tally.last_end());
  return reached ? to_seconds(*reached) : std::numeric_limits<double>::infinity();
}

std::optional<double> latency_figure(const Tally& tally, const Expression& expression) {
  const Histogram& latency = tally.latency();
  if (latency.count() == 0) return std::nullopt;
  if (expression.metric == Metric::latency_mean) return to_seconds(latency.mean());
  if (expression.metric == Metric::latency_max) return to_seconds(latency.max());
  return to_seconds(latency.percentile(expression.percent));
}

std::optional<double> figure(const Report& report, const Expression& expression) {
  const Tally& tally = report.tally;
  if (needs_engine(expression.metric) && !report.track.joined()) return std::nullopt;
  switch (expression.metric) {
    case Metric::latency_percentile:
    case Metric::latency_mean:
    case Metric::latency_max:
      return latency_figure(tally, expression);
    case Metric::service_percentile:
      return percentile_seconds(tally.service(), expression.percent);
    case Metric::lag_percentile:
      return percentile_seconds(tally.lag(), expression.percent);
    case Metric::errors:
      return static_cast<double>(tally.errors());
    case Metric::error_rate:
      return tally.error_rate();
    case Metric::refused:
      return static_cast<double>(tally.refused());
    case Metric::lost:
      return static_cast<double>(tally.lost());
    case Metric::non_2xx:
      return static_cast<double>(tally.non_2xx());
    case Metric::status:
      return static_cast<double>(tally.answers(expression.status));
    case Metric::rate:
      return achieved_rate(report);
    case Metric::cold_start:
      return cold_start_seconds(report, expression.percent);
    case Metric::cold_start_count:
      return static_cast<double>(report.track.cold_start_times().count());
    case Metric::replicas_max:
      return static_cast<double>(report.track.ready_max());
    case Metric::replica_seconds:
      return report.track.replica_seconds(report.length);
    case Metric::panics:
      return static_cast<double>(report.track.panics().size());
    case Metric::time_to_zero:
      return time_to_zero_seconds(report);
    case Metric::generator:
      return is_late(report) ? 1 : 0;
  }
  return std::nullopt;
}

std::string shown(Metric metric, double actual) {
  if (std::isinf(actual)) return "not reached";
  switch (metric) {
    case Metric::latency_percentile:
    case Metric::latency_mean:
    case Metric::latency_max:
    case Metric::service_percentile:
    case Metric::lag_percentile:
      return milliseconds(from_seconds(actual)) + " ms";
    case Metric::cold_start:
    case Metric::time_to_zero:
      return spoken(from_seconds(actual));
    case Metric::error_rate:
      return plain(actual * 100) + " %";
    case Metric::rate:
      return plain(actual) + "/s";
    case Metric::generator:
      return actual == 0 ? "on_time" : "late";
    case Metric::errors:
    case Metric::refused:
    case Metric::lost:
    case Metric::non_2xx:
    case Metric::status:
    case Metric::cold_start_count:
    case Metric::replicas_max:
    case Metric::replica_seconds:
    case Metric::panics:
      return plain(actual);
  }
  return {};
}

}  // namespace

std::vector<Verdict> judge(const Report& report) {
  std::vector<Verdict> verdicts;
  for (const Expression& expression : report.plan.fail_if) {
    Verdict verdict{expression.text, figure(report, expression), "not known", false};
    if (verdict.actual) {
      verdict.shown = shown(expression.metric, *verdict.actual);
      verdict.failed = holds(expression, *verdict.actual);
    }
    verdicts.push_back(std::move(verdict));
  }
  return verdicts;
}

bool is_behind(const Report& report) {
  return report.plan.loop == Loop::open && report.tally.lag().percentile(99) > kLagTolerated;
}

bool is_late(const Report& report) {
  const Tally& tally = report.tally;
  if (report.plan.loop == Loop::closed || tally.ended(Ending::answered) == 0) return false;
  return tally.unsent() > 0 || (is_behind(report) && !kept_rate(report));
}

double achieved_rate(const Report& report) {
  const double seconds = to_seconds(measured_length(report));
  return seconds > 0 ? static_cast<double>(report.tally.sent()) / seconds : 0;
}

double answered_rate(const Report& report) {
  const Duration to_last = report.tally.last_end() - report.plan.warmup;
  const double seconds = to_seconds(std::max(measured_length(report), to_last));
  const auto answered = static_cast<double>(report.tally.ended(Ending::answered));
  return seconds > 0 ? answered / seconds : 0;
}

}  // namespace sluice::loadgen
