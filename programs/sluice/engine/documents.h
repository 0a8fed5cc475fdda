#pragma once

#include "common/time/time_point.h"

#include <nlohmann/json_fwd.hpp>

#include "platform/process/replica.h"
#include <optional>
#include <string>

namespace sluice::local {

/// Milliseconds with one decimal below ten, whole above.
[[nodiscard]] double rounded_ms(Duration duration);

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

/// What is known of a start when the first answer begins that was held for it.
struct StartFacts {
  std::string service;
  std::string replica;
  ReplicaTimes times;
  std::optional<TimePoint> noticed;  ///< the start from nothing was ordered
  TimePoint arrived{};
  TimePoint dispatched{};
  TimePoint first_byte{};
};

/// A request may arrive when its start is under way already: what was over by then cost it nothing.
[[nodiscard]] ColdStart phases_of_start(const StartFacts& facts);

/// The cold_start event.
[[nodiscard]] nlohmann::json cold_start_json(const ColdStart& start);

/// The header lines Sluice-Cold-Start and Server-Timing.
[[nodiscard]] std::string cold_start_headers(const ColdStart& start);

}  // namespace sluice::local
