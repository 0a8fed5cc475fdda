#include "load/core/second_rows.h"

#include <algorithm>

namespace sluice::loadgen {

namespace {

std::optional<double> rate_planned(const Report& report, Duration at, std::size_t target,
                                   const Second& second) {
  if (report.plan.loop == Loop::closed) return std::nullopt;
  const Duration length = report.results.seconds.step();
  const bool replayed = report.plan.phases[phase_at(report.plan, at)].replay.has_value();
  const double requests = replayed ? static_cast<double>(second.sent + second.not_sent)
                                   : expected_requests(report.plan, target, at, at + length);
  return requests / to_seconds(length);
}

}  // namespace

std::vector<SecondRow> second_rows(const Report& report) {
  const SecondSeries& seconds = report.results.seconds;
  std::vector<std::vector<std::uint64_t>> in_flight;
  for (std::size_t i = 0; i < seconds.targets(); ++i) in_flight.push_back(seconds.in_flight(i));
  std::vector<SecondRow> out;
  for (std::size_t row = 0; row < seconds.rows(); ++row) {
    const Duration at = seconds.begin_of(row);
    for (std::size_t target = 0; target < seconds.targets(); ++target) {
      const Second& second = seconds.at(row, target);
      SecondRow& shown = out.emplace_back();
      shown.at = at;
      shown.length = seconds.step();
      shown.target = report.plan.targets[target].name;
      shown.phase = report.plan.phases[phase_at(report.plan, at)].name;
      shown.rate_planned = rate_planned(report, at, target, second);
      shown.in_flight = in_flight[target][row];
      shown.counts = &second;
      if (second.latency.count() == 0) continue;
      shown.p50 = std::min(second.latency.percentile(50), second.max);
      shown.p99 = std::min(second.latency.percentile(99), second.max);
      shown.max = second.max;
    }
  }
  return out;
}

}  // namespace sluice::loadgen
