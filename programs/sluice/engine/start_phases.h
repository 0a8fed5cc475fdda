#pragma once

#include "common/messages/activator_stream.h"
#include "common/time/time_point.h"

#include "platform/process/replica.h"
#include <optional>
#include <string>

namespace sluice::local {

/// What is known of a start when the first answer begins that was held for it.
struct StartFacts {
  std::string replica;
  ReplicaTimes times;
  std::optional<TimePoint> noticed;  ///< the start from nothing was ordered
  TimePoint arrived{};
  TimePoint dispatched{};
  TimePoint first_byte{};
};

/// One start from zero as the front door and the supervisor of replicas saw it.
struct Start {
  TimePoint born{};  ///< it was ordered, before any request waited or after: distinguishes starts
  TimePoint first_byte{};  ///< its first answer began
  proto::ColdStart took;   ///< without the revision
};

/// A request may arrive when its start is under way already: what was over by then cost it nothing.
[[nodiscard]] Start phases_of_start(const StartFacts& facts);

}  // namespace sluice::local
