#include "programs/sluice/engine/documents.h"

#include "autoscaler/io/fleet_events.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cmath>

namespace sluice::local {
namespace {

struct Phase {
  const char* name;
  double ms;
};

std::array<Phase, 6> phases_of(const ColdStart& start) {
  const auto ms = [](TimePoint from, TimePoint to) {
    return rounded_ms(std::max(Duration{0}, to - from));
  };
  return {{{"queue", ms(start.arrived, start.noticed)},
           {"decide", ms(start.noticed, start.created)},
           {"create", ms(start.created, start.executed)},
           {"start", ms(start.executed, start.listening)},
           {"ready", ms(start.listening, start.dispatched)},
           {"first_byte", ms(start.dispatched, start.first_byte)}}};
}

}  // namespace

double rounded_ms(Duration duration) {
  const double ms = static_cast<double>(duration.count()) / 1e6;
  return ms >= 10 ? std::round(ms) : std::round(ms * 10) / 10;
}

ColdStart phases_of_start(const StartFacts& facts) {
  const auto step = [](TimePoint before, std::optional<TimePoint> at) {
    return std::max(before, at.value_or(before));
  };
  ColdStart start;
  start.service = facts.service;
  start.replica = facts.replica;
  start.born = facts.times.created.value_or(facts.arrived);
  start.arrived = facts.arrived;
  start.noticed = step(facts.arrived, std::min(facts.noticed.value_or(facts.arrived), start.born));
  start.created = step(start.noticed, facts.times.created);
  start.executed = step(start.created, facts.times.executed);
  start.listening = step(start.executed, facts.times.listening);
  start.dispatched = step(start.listening, facts.dispatched);
  start.first_byte = step(start.dispatched, facts.first_byte);
  return start;
}

nlohmann::json cold_start_json(const ColdStart& start) {
  nlohmann::json event = autoscaler::event_json("cold_start", start.first_byte);
  event["service"] = start.service;
  event["replica"] = start.replica;
  event["total_ms"] = rounded_ms(start.first_byte - start.arrived);
  for (const Phase& phase : phases_of(start)) event["phases_ms"][phase.name] = phase.ms;
  return event;
}

std::string cold_start_headers(const ColdStart& start) {
  std::string timing;
  for (const Phase& phase : phases_of(start)) {
    if (!timing.empty()) timing += ", ";
    timing += fmt::format("{};dur={}", phase.name, phase.ms);
  }
  return fmt::format("Sluice-Cold-Start: {}\r\nServer-Timing: {}\r\n",
                     std::llround(rounded_ms(start.first_byte - start.arrived)), timing);
}

}  // namespace sluice::local
