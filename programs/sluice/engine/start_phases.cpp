#include "programs/sluice/engine/start_phases.h"

#include <algorithm>

namespace sluice::local {

Start phases_of_start(const StartFacts& facts) {
  const auto step = [](TimePoint before, std::optional<TimePoint> at) {
    return std::max(before, at.value_or(before));
  };
  const TimePoint born = facts.times.created.value_or(facts.arrived);
  const TimePoint noticed =
      step(facts.arrived, std::min(facts.noticed.value_or(facts.arrived), born));
  const TimePoint created = step(noticed, facts.times.created);
  const TimePoint executed = step(created, facts.times.executed);
  const TimePoint listening = step(executed, facts.times.listening);
  const TimePoint dispatched = step(listening, facts.dispatched);
  const TimePoint first_byte = step(dispatched, facts.first_byte);
  return {.born = born,
          .first_byte = first_byte,
          .took = {.revision = {},
                   .pod = facts.replica,
                   .queue = noticed - facts.arrived,
                   .decide = created - noticed,
                   .create = executed - created,
                   .start = listening - executed,
                   .ready = dispatched - listening,
                   .first_byte = first_byte - dispatched}};
}

}  // namespace sluice::local
