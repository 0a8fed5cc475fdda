#include "memory-pressure/core/headroom_policy.h"

#include <algorithm>

namespace sluice::node_agent {
namespace {

/// A gap longer than this says that the agent stood still; nothing was watched meanwhile.
constexpr Duration kTickMax = std::chrono::seconds{5};

Pressure pressure_of(const Situation& situation, const Decision& decision) {
  const bool deepest = std::any_of(decision.throttled.begin(), decision.throttled.end(),
                                   [](const Throttle& one) { return one.ladder_step >= 4; });
  if (situation.critical || deepest || decision.sacrifice) return Pressure::critical;
  const bool high = !situation.safe || situation.over || !decision.throttled.empty();
  return high ? Pressure::high : Pressure::ok;
}

}  // namespace

HeadroomPolicy::HeadroomPolicy(const PolicySettings& settings)
    : settings_(settings),
      time_(kTickMax),
      threshold_(settings),
      residents_(settings),
      pauses_(settings),
      sacrifices_(settings),
      upper_(settings.upper) {}

Decision HeadroomPolicy::decide(const Observation& seen) {
  const TimePoint now = time_.advance(seen.now);
  if (seen.runtime_answers) residents_.update(seen, now);
  const auto memory = memory_of(seen);
  if (!memory || !seen.runtime_answers) return stand_still(seen);

  threshold_.update(*memory, residents_.growth(), seen.evicted, now);
  upper_ = threshold_.upper();
  Situation situation = assess(*memory, residents_, threshold_, settings_, now);
  if (first_ && !situation.trouble) {
    for (auto& [id, resident] : residents_.all()) resident.pause.reset();
  }
  first_ = false;

  Decision decision;
  if (settings_.pause) {
    pauses_.update(residents_, situation);
    decision.sacrifice = sacrifices_.choose(residents_, situation, pauses_.exhausted_since());
  }
  judge(situation, settings_);
  list_throttled(decision);
  decision.pressure = pressure_of(situation, decision);
  decision.retire_idle = decision.pressure != Pressure::ok;
  decision.admit_bytes = admissible(situation);
  decision.upper = upper_;
  decision.growth_per_second = static_cast<std::int64_t>(situation.growth);
  decision.why = in_words(situation);
  ask_for_reclaim(situation, decision);
  return decision;
}

std::optional<NodeMemory> HeadroomPolicy::memory_of(const Observation& seen) {
  if (seen.memory) {
    last_memory_ = seen.memory;
    missed_memory_ = false;
    return seen.memory;
  }
  // One failed read is bridged with the value before it, a second is blindness.
  if (missed_memory_) return std::nullopt;
  missed_memory_ = true;
  return last_memory_;
}

Decision HeadroomPolicy::stand_still(const Observation& seen) {
  Decision decision;
  list_throttled(decision);
  decision.pressure = Pressure::high;
  decision.admit_bytes = settings_.gate ? 0 : kAdmitAnything;
  decision.upper = upper_;
  decision.why = seen.runtime_answers ? "memory cannot be read: nothing is throttled or released"
                                      : "the runtime does not answer: nothing changes";
  return decision;
}

std::int64_t HeadroomPolicy::admissible(const Situation& situation) const {
  if (!settings_.gate) return kAdmitAnything;
  bool empty = true;
  bool paused = false;
  for (const auto& [id, resident] : residents_.all()) {
    if (!resident.exempt) empty = false;
    if (resident.pause) paused = true;
  }
  const double room = static_cast<double>(situation.free) / settings_.overcommit_factor -
                      static_cast<double>(situation.possible);
  const auto claim = static_cast<std::int64_t>(std::max(0.0, room));
  if (empty) return std::max(claim, situation.capacity);
  return paused || !situation.safe ? 0 : claim;
}

void HeadroomPolicy::list_throttled(Decision& decision) const {
  std::vector<const Resident*> paused;
  for (const auto& [id, resident] : residents_.all()) {
    if (resident.pause && !resident.leaving) paused.push_back(&resident);
  }
  std::stable_sort(paused.begin(), paused.end(), [](const Resident* a, const Resident* b) {
    return a->pause->turn < b->pause->turn;
  });
  for (const Resident* resident : paused) {
    decision.throttled.push_back({.id = resident->seen.id,
                                  .quota = resident->pause->quota,
                                  .ladder_step = resident->pause->step,
                                  .why = resident->pause->why});
  }
}

void HeadroomPolicy::ask_for_reclaim(const Situation& situation, Decision& decision) {
  if (!situation.trouble) return;
  if (reclaimed_at_ && situation.now - *reclaimed_at_ < settings_.escalate_after) return;
  reclaimed_at_ = situation.now;
  for (const auto& [id, resident] : residents_.all()) {
    if (!resident.exempt) decision.reclaim.push_back(id);
  }
}

Duration next_sample(const PolicySettings& settings, const Observation& seen,
                     const Decision& decision) {
  if (!decision.throttled.empty() || !seen.memory) return settings.fast_sample;
  const double edge = settings.lower * static_cast<double>(seen.memory->capacity);
  const bool near = static_cast<double>(seen.memory->used) > edge;
  return near ? std::min(settings.sample, settings.fast_sample) : settings.sample;
}

}  // namespace sluice::node_agent
