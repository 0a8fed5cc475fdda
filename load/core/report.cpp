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

std::optional<double> cold_start_seconds(const Report& report, double percent) {
  const Histogram& times = report.track.cold_start_times();
  if (times.count() == 0) return std::nullopt;
  return to_seconds(times.percentile(percent));
}

std::optional<double> time_to_zero_seconds(const Report& report) {
  const auto reached = report.track.time_to_zero(report.tally.last_end());
  return reached ? to_seconds(*reached) : std::numeric_limits<double>::infinity();
}

std::optional<double> figure(const Report& report, const Expression& expression) {
  const Tally& tally = report.tally;
  if (needs_engine(expression.metric) && !report.track.joined()) return std::nullopt;
  switch (expression.metric) {
    case Metric::latency_percentile:
      if (tally.latency().count() == 0) return std::nullopt;
      return to_seconds(tally.latency().percentile(expression.percent));
    case Metric::latency_max:
      if (tally.latency().count() == 0) return std::nullopt;
      return to_seconds(tally.latency().max());
    case Metric::errors:
      return static_cast<double>(tally.errors());
    case Metric::error_rate:
      return tally.error_rate();
    case Metric::cold_start:
      return cold_start_seconds(report, expression.percent);
    case Metric::replicas_max:
      return static_cast<double>(report.track.ready_max());
    case Metric::time_to_zero:
      return time_to_zero_seconds(report);
  }
  return std::nullopt;
}

std::string shown(Metric metric, double actual) {
  if (std::isinf(actual)) return "not reached";
  switch (metric) {
    case Metric::latency_percentile:
    case Metric::latency_max:
      return milliseconds(from_seconds(actual)) + " ms";
    case Metric::cold_start:
    case Metric::time_to_zero:
      return spoken(from_seconds(actual));
    case Metric::error_rate:
      return plain(actual * 100) + " %";
    case Metric::errors:
    case Metric::replicas_max:
      return plain(actual);
  }
  return {};
}

}  // namespace

std::vector<Verdict> judge(const Report& report) {
  std::vector<Verdict> verdicts;
  for (const Expression& expression : report.plan.fail_if) {
    Verdict verdict{expression.text, figure(report, expression), "not known", false};
    // No cold start took no time at all; without an engine it is unknown.
    const bool none = expression.metric == Metric::cold_start && report.track.joined();
    if (!verdict.actual && none) verdict.actual = 0;
    if (verdict.actual) {
      verdict.shown = shown(expression.metric, *verdict.actual);
      verdict.failed = holds(expression, *verdict.actual);
    }
    verdicts.push_back(std::move(verdict));
  }
  return verdicts;
}

bool is_late(const Report& report) {
  if (report.plan.loop == Loop::closed) return false;
  return report.tally.unsent() > 0 || report.tally.lag().percentile(99) > kLagTolerated;
}

double achieved_rate(const Report& report) {
  const double seconds = to_seconds(measured_length(report));
  return seconds > 0 ? static_cast<double>(report.tally.sent()) / seconds : 0;
}

}  // namespace sluice::loadgen
