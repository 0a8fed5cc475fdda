#include "load/core/report.h"

#include "load/core/quantity.h"
#include <algorithm>
#include <cmath>
#include <limits>

namespace sluice::loadgen {

namespace {

// The time in which a part was to be sent.
struct Span {
  Duration begin;  // since the start of the run
  Duration length;
};

Span span_of(const Report& report, const Part& part) {
  if (part.phase) {
    return {report.plan.begin_of(*part.phase), report.plan.phases[*part.phase].length()};
  }
  const Duration warmup = report.plan.warmup;
  const Duration whole = std::max(report.length - warmup, Duration::zero());
  const Duration asked = report.plan.duration.value_or(whole);
  const bool cut = report.interrupted || report.plan.count;
  return {warmup, cut ? std::min(asked, whole) : asked};
}

Duration measured_length(const Report& report, const Part& part) {
  const Span span = span_of(report, part);
  if (!is_late(report, part)) return span.length;
  // A late generator went on sending after the planned end; its rate is over all of that, and not
  // over the wait for the last answers.
  const Duration sending = report.results.of(part).last_taken() - span.begin;
  const bool cut = report.interrupted || report.plan.count;
  return cut ? sending : std::max(span.length, sending);
}

// Whether the last request was taken up about when it was due: whatever queued up in a stall was
// made up for by then.
bool kept_rate(const Report& report, const Part& part) {
  constexpr Duration kBehindMax = std::chrono::milliseconds{100};
  const Tally& tally = report.results.of(part);
  const Duration sending = tally.last_planned() - span_of(report, part).begin;
  const Duration behind = tally.last_taken() - tally.last_planned();
  return tally.unsent() == 0 && behind <= std::min(sending / 100, kBehindMax);
}

std::optional<double> percentile_seconds(const Histogram& times, double percent) {
  if (times.count() == 0) return std::nullopt;
  return to_seconds(times.percentile(percent));
}

// No cold start took no time at all.
double cold_start_seconds(const ReplicaTrack& track, double percent) {
  return percentile_seconds(track.cold_start_times(), percent).value_or(0);
}

double time_to_zero_seconds(const ReplicaTrack& track, const Tally& tally) {
  const auto reached = track.time_to_zero(tally.last_end());
  return reached ? to_seconds(*reached) : std::numeric_limits<double>::infinity();
}

std::optional<double> known(double value) {
  return std::isnan(value) ? std::nullopt : std::optional{value};
}

std::optional<double> engine_figure(const Report& report, const Expression& expression) {
  const Part part = part_of(report.plan, expression);
  const bool one = part.target && !report.tracks.empty();
  const ReplicaTrack& track = one ? report.tracks[*part.target] : report.track;
  if (!track.joined()) return std::nullopt;
  switch (expression.metric) {
    case Metric::cold_start:
      return cold_start_seconds(track, expression.percent);
    case Metric::cold_start_count:
      return static_cast<double>(track.cold_start_times().count());
    case Metric::queue_max:
      return known(track.scaling().queued_max());
    case Metric::replicas_max:
      return static_cast<double>(track.ready_max());
    case Metric::replica_seconds:
      return track.replica_seconds(report.length);
    case Metric::panics:
      return static_cast<double>(track.panics().size());
    case Metric::time_to_zero:
      return time_to_zero_seconds(track, report.results.of(part));
    case Metric::latency_percentile:
    case Metric::latency_mean:
    case Metric::latency_max:
    case Metric::service_percentile:
    case Metric::lag_percentile:
    case Metric::errors:
    case Metric::error_rate:
    case Metric::refused:
    case Metric::lost:
    case Metric::non_2xx:
    case Metric::status:
    case Metric::rate:
    case Metric::generator:
      return std::nullopt;
  }
  return std::nullopt;
}

std::optional<double> latency_figure(const Tally& tally, const Expression& expression) {
  const Histogram& latency = tally.latency();
  if (latency.count() == 0) return std::nullopt;
  if (expression.metric == Metric::latency_mean) return to_seconds(latency.mean());
  if (expression.metric == Metric::latency_max) return to_seconds(latency.max());
  return to_seconds(latency.percentile(expression.percent));
}

std::optional<double> figure(const Report& report, const Expression& expression) {
  if (needs_engine(expression.metric)) return engine_figure(report, expression);
  const Part part = part_of(report.plan, expression);
  const Tally& tally = report.results.of(part);
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
      return achieved_rate(report, part);
    case Metric::generator:
      return is_late(report, part) ? 1 : 0;
    case Metric::cold_start:
    case Metric::cold_start_count:
    case Metric::queue_max:
    case Metric::replicas_max:
    case Metric::replica_seconds:
    case Metric::panics:
    case Metric::time_to_zero:
      return std::nullopt;
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
    case Metric::queue_max:
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
  for (const Expression& expression : report.plan.conditions) {
    Verdict verdict{expression.text, expression.use, figure(report, expression), "not known",
                    false};
    if (verdict.actual) {
      verdict.shown = shown(expression.metric, *verdict.actual);
      verdict.failed = holds(expression, *verdict.actual) == (expression.use == Use::fail_if);
    }
    verdicts.push_back(std::move(verdict));
  }
  return verdicts;
}

bool is_behind(const Report& report, const Part& part) {
  const Tally& tally = report.results.of(part);
  return report.plan.loop == Loop::open && tally.lag().percentile(99) > kLagTolerated;
}

bool is_late(const Report& report, const Part& part) {
  const Tally& tally = report.results.of(part);
  if (report.plan.loop == Loop::closed || tally.ended(Ending::answered) == 0) return false;
  if (tally.unsent() > 0 || (is_behind(report, part) && !kept_rate(report, part))) return true;
  for (std::size_t i = 0; !part.phase && !part.target && i < report.results.phases.size(); ++i) {
    if (is_late(report, {.phase = i})) return true;
  }
  return false;
}

std::optional<LateCause> late_cause(const Report& report) {
  constexpr double kBusyCore = 0.9;
  if (!is_late(report)) return std::nullopt;
  if (report.generator.busiest() >= kBusyCore) return LateCause::own_core;
  if (report.cap_waits > 0) return LateCause::no_connection;
  if (report.results.whole.ended(Ending::no_local_port) > 0) return LateCause::no_local_port;
  return LateCause::server;
}

std::string_view name_of(LateCause cause) {
  switch (cause) {
    case LateCause::own_core:
      return "own_core";
    case LateCause::no_connection:
      return "no_connection";
    case LateCause::no_local_port:
      return "no_local_port";
    case LateCause::server:
      return "server";
  }
  return {};
}

double achieved_rate(const Report& report, const Part& part) {
  const double seconds = to_seconds(measured_length(report, part));
  const auto sent = static_cast<double>(report.results.of(part).sent());
  return seconds > 0 ? sent / seconds : 0;
}

double answered_rate(const Report& report) {
  const Tally& tally = report.results.whole;
  const Duration to_last = tally.last_end() - report.plan.warmup;
  const double seconds = to_seconds(std::max(measured_length(report, {}), to_last));
  const auto answered = static_cast<double>(tally.ended(Ending::answered));
  return seconds > 0 ? answered / seconds : 0;
}

}  // namespace sluice::loadgen
