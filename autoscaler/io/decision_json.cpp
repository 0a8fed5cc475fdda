#include "autoscaler/io/decision_json.h"

#include "autoscaler/io/places_json.h"
#include "autoscaler/io/time_text.h"

#include <nlohmann/json.hpp>

namespace sluice::autoscaler {

namespace {

// What a decision was made from beside its own numbers.
nlohmann::json inputs_of(const DecisionRecord& record) {
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
  if (record.panic_entered) inputs["mode_for_s"] = mode_for_s(record);
  if (record.panic_until) inputs["may_fall_at"] = format_time(*record.panic_until);
  return inputs;
}

}  // namespace

nlohmann::json decision_json(const DecisionRecord& record, const About& of) {
  nlohmann::json decision = {{"time", format_time(record.time)},
                             {"namespace", of.id.space},
                             {"service", of.service},
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
  if (!record.places.empty()) decision["places"] = shares_json(record.places);
  return decision;
}

nlohmann::json mode_for_s(const DecisionRecord& record) {
  return record.panic_entered ? nlohmann::json(to_seconds(record.time - *record.panic_entered))
                              : nlohmann::json{};
}

nlohmann::json explained_json(const DecisionRecord& record, const About& of) {
  nlohmann::json decision = decision_json(record, of);
  decision["inputs"] = inputs_of(record);
  return decision;
}

}  // namespace sluice::autoscaler
