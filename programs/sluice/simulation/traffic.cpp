#include "programs/sluice/simulation/traffic.h"

#include "load/core/arrivals.h"
#include <utility>

namespace sluice::simulation {

Traffic of_shape(std::vector<loadgen::Segment> segments, std::uint64_t seed) {
  Duration length{0};
  for (const loadgen::Segment& segment : segments) length += segment.length;
  loadgen::ArrivalSchedule schedule{std::move(segments), loadgen::Arrivals::poisson, seed};
  return [schedule = std::move(schedule), length, over = false](
             Duration, std::mt19937_64&) mutable -> std::optional<NextArrival> {
    if (const auto at = schedule.next()) {
      schedule.take();
      return NextArrival{.at = *at};
    }
    if (std::exchange(over, true)) return std::nullopt;
    return NextArrival{.at = length, .comes = false};
  };
}

Result<TraceTraffic, Problem> TraceTraffic::open(const std::string& name, std::string service,
                                                 std::uint64_t seed) {
  const loadgen::TraceName named = loadgen::parse_trace_name(name);
  auto file = loadgen::TraceFile::open(named, {.trigger = {}});
  if (!file) return file.error();
  return TraceTraffic{std::move(*file), named.file, std::move(service), seed};
}

TraceTraffic::TraceTraffic(loadgen::TraceFile file, std::string name, std::string service,
                           std::uint64_t seed)
    : file_{std::move(file)},
      name_{std::move(name)},
      service_{std::move(service)},
      arrivals_{seed} {}

std::optional<NextArrival> TraceTraffic::next() {
  while (!problem_) {
    if (const auto arrival = arrivals_.next()) {
      return NextArrival{.at = arrival->at, .service = arrival->duration};
    }
    if (file_.ended()) break;
    read();
  }
  return std::nullopt;
}

void TraceTraffic::read() {
  auto wrong = file_.read([this](const loadgen::TraceCell& cell) { take(cell); });
  if (wrong && !problem_) problem_ = std::move(wrong);
  if (problem_ || !file_.ended()) return;
  arrivals_.end();
  if (!taken_) {
    problem_ = Problem{name_ + " has no request of a service " + service_,
                       "give one of its services with --service"};
  }
}

void TraceTraffic::take(const loadgen::TraceCell& cell) {
  if (!service_.empty() && cell.service != service_) return;
  if (!first_) first_ = cell.service;
  if (file_.facts().format == loadgen::TraceFormat::azure2019 && cell.service != *first_) {
    problem_ = Problem{name_ + " has several functions", "name one of them: --service " + *first_};
    return;
  }
  taken_ = true;
  arrivals_.keep_order(loadgen::order_kept(file_.facts().format));
  arrivals_.add(cell);
}

}  // namespace sluice::simulation
