#pragma once

#include "autoscaler/core/decision/decision_record.h"
#include "autoscaler/io/decision_json.h"
#include "common/time/time_point.h"

#include <nlohmann/json_fwd.hpp>

#include "platform/process/replica.h"
#include <string>

namespace sluice::local {

/// Milliseconds with one decimal below ten, whole above.
[[nodiscard]] double rounded_ms(Duration duration);

/// The decision object of protocols.md 5; on one machine the namespace is always "default".
[[nodiscard]] nlohmann::json decision_json(const autoscaler::DecisionRecord& record,
                                           const std::string& service);

using autoscaler::decision_inputs_json;

/// The phases of one start from zero (one-machine.md 7).
struct ColdStart {
  std::string service;
  std::string replica;
  TimePoint born{};        ///< the start was ordered, whoever waited by then: tells starts apart
  TimePoint arrived{};     ///< the first request that was held
  TimePoint noticed{};     ///< the autoscaler was told
  TimePoint created{};     ///< the start was ordered
  TimePoint executed{};    ///< both programs run
  TimePoint listening{};   ///< the app accepts connections
  TimePoint dispatched{};  ///< the request was sent on
  TimePoint first_byte{};  ///< its response began
};

/// The cold_start event.
[[nodiscard]] nlohmann::json cold_start_json(const ColdStart& start);

/// The header lines Sluice-Cold-Start and Server-Timing.
[[nodiscard]] std::string cold_start_headers(const ColdStart& start);

/// An event object with its type and time.
[[nodiscard]] nlohmann::json event_json(const char* type, TimePoint now);

}  // namespace sluice::local
