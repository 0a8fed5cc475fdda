#include "programs/sluice/simulation/traffic.h"

#include "load/core/arrivals.h"
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string_view>
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
  taken_ = true;
  arrivals_.keep_order(loadgen::order_kept(file_.facts().format));
  arrivals_.add(cell);
}

Result<FunctionTraces, Problem> FunctionTraces::open(const std::string& name) {
  const loadgen::TraceName named = loadgen::parse_trace_name(name);
  auto file = loadgen::TraceFile::open(named, {.trigger = {}});
  if (!file) return file.error();
  // Its header has three names of the function, the trigger and the minutes.
  constexpr std::int64_t kCommasBefore = 3;
  auto again = loadgen::UnpackedFile::open(named.file);
  const std::string_view begin = again ? again->next() : std::string_view{};
  const std::string_view header = begin.substr(0, begin.find('\n'));
  const auto commas = std::count(header.begin(), header.end(), ',');
  return FunctionTraces{std::move(*file),
                        std::chrono::minutes{std::max<std::int64_t>(0, commas - kCommasBefore)}};
}

// One is whole when another one has begun.
std::optional<FunctionTrace> FunctionTraces::next() {
  while (read_.size() < 2 && !file_.ended() && !problem_) {
    problem_ = file_.read([this](const loadgen::TraceCell& cell) { take(cell); });
  }
  if (problem_ || read_.empty()) return std::nullopt;
  FunctionTrace first = std::move(read_.front());
  read_.pop_front();
  return first;
}

void FunctionTraces::take(const loadgen::TraceCell& cell) {
  const bool same =
      !read_.empty() && read_.back().name == cell.service && read_.back().cells.back().at < cell.at;
  if (!same) read_.push_back({.name = cell.service, .cells = {}});
  read_.back().cells.push_back(cell);
}

Traffic of_function(const FunctionTrace& function, Duration length, std::uint64_t seed) {
  const auto arrivals = std::make_shared<loadgen::TraceArrivals>(seed);
  for (const loadgen::TraceCell& cell : function.cells) arrivals->add(cell);
  arrivals->end();
  return [arrivals, length, over = false](Duration,
                                          std::mt19937_64&) mutable -> std::optional<NextArrival> {
    const auto next = arrivals->next();
    if (next) return NextArrival{.at = next->at, .service = next->duration};
    if (std::exchange(over, true)) return std::nullopt;
    return NextArrival{.at = length, .comes = false};
  };
}

}  // namespace sluice::simulation
