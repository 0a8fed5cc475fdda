#include "autoscaler/io/cold_start_json.h"

#include "autoscaler/io/decision_json.h"
#include "autoscaler/io/fleet_events.h"

#include <nlohmann/json.hpp>

#include <cmath>

namespace sluice::autoscaler {

double rounded_ms(Duration duration) {
  const double ms = static_cast<double>(duration.count()) / 1e6;
  return ms >= 10 ? std::round(ms) : std::round(ms * 10) / 10;
}

nlohmann::json cold_start_json(const model::Revision& of, const proto::ColdStart& start,
                               TimePoint at) {
  nlohmann::json event = event_json("cold_start", at, about(of));
  if (!start.pod.empty()) event["replica"] = start.pod;
  event["total_ms"] = rounded_ms(start.total());
  event["phases_ms"] = {
      {"queue", rounded_ms(start.queue)},   {"decide", rounded_ms(start.decide)},
      {"create", rounded_ms(start.create)}, {"start", rounded_ms(start.start)},
      {"ready", rounded_ms(start.ready)},   {"first_byte", rounded_ms(start.first_byte)}};
  return event;
}

}  // namespace sluice::autoscaler
