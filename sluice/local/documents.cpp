#include "sluice/local/documents.h"

#include "sluice/local/time_text.h"

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

nlohmann::json decision_json(const autoscaler::DecisionRecord& record, const std::string& service) {
  return {{"time", format_time(record.time)},
          {"namespace", "default"},
          {"service", service},
          {"revision", record.revision},
          {"trigger", name(record.trigger)},
          {"valid", record.valid},
          {"metric", name(record.metric)},
          {"stable", record.stable},
          {"panic", record.panic},
          {"target", record.target},
          {"total", record.total},
          {"ready", record.ready},
          {"wanted_stable", record.wanted_stable},
          {"wanted_panic", record.wanted_panic},
          {"up_limit", record.up_limit},
          {"down_limit", record.down_limit},
          {"mode", name(record.mode)},
          {"desired", record.desired},
          {"bounded", record.bounded},
          {"granted", record.granted},
          {"bound_by", name(record.bound_by)},
          {"excess_burst_capacity", record.excess_burst_capacity},
          {"route_mode", name(record.route_mode)},
          {"why", why(record)}};
}

nlohmann::json decision_inputs_json(const autoscaler::DecisionRecord& record) {
  nlohmann::json inputs = {{"stable_window_s", to_seconds(record.stable_window)},
                           {"panic_window_s", to_seconds(record.panic_window)},
                           {"panic_threshold", record.panic_threshold},
                           {"breach", record.breach},
                           {"max_scale_up_rate", record.max_scale_up_rate},
                           {"max_scale_down_rate", record.max_scale_down_rate},
                           {"activation_scale", record.activation_scale},
                           {"scale_down_delay_s", to_seconds(record.scale_down_delay)},
                           {"min", record.bounds.min},
                           {"max", record.bounds.max}};
  if (record.panic_entered) inputs["mode_for_s"] = to_seconds(record.time - *record.panic_entered);
  if (record.panic_until) inputs["may_fall_at"] = format_time(*record.panic_until);
  return inputs;
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
