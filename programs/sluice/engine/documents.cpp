#include "programs/sluice/engine/documents.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "platform/process/time_text.h"
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

nlohmann::json decision_json(const autoscaler::DecisionRecord& record, const std::string& service) {
  return autoscaler::decision_json(record, {.space = "default", .service = service});
}

nlohmann::json event_json(const char* type, TimePoint now) {
  return {{"type", type}, {"time", format_time(now)}};
}

nlohmann::json cold_start_json(const ColdStart& start) {
  nlohmann::json event = event_json("cold_start", start.first_byte);
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
