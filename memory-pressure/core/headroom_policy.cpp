#include "memory-pressure/core/headroom_policy.h"

#include <algorithm>

namespace sluice::node_agent {
namespace {

constexpr double kRoomMax = 0x1p62;  // a small factor makes more of it than an integer holds

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
      time_(kLookGapMax),
      threshold_(settings),
      residents_(settings),
      pauses_(settings),
      sacrifices_(settings),
      upper_(settings.upper) {}

Decision HeadroomPolicy::decide(const Observation& seen) {
  const TimePoint now = time_.advance(seen.now);
  if (seen.runtime_answers) residents_.update(seen, now);
  const auto memory = memory_.take(seen.memory);
  if (!memory || !seen.runtime_answers) return stand_still(seen);

  threshold_.update(*memory, residents_.growth(), seen.evicted, now);
  upper_ = threshold_.upper();
  Situation situation = assess(*memory, residents_, threshold_, settings_, now);
  situation.spared = spared_;
  judge(situation, settings_);
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
  decision.empty = is_empty();
  decision.pressure = pressure_of(situation, decision);
  decision.retire_idle = decision.pressure != Pressure::ok;
  admit(situation, decision);
  decision.upper = upper_;
  decision.growth_per_second = static_cast<std::int64_t>(situation.growth);
  decision.why = in_words(situation);
  ask_for_reclaim(situation, decision);
  return decision;
}

Decision HeadroomPolicy::stand_still(const Observation& seen) {
  Decision decision;
  list_throttled(decision);
  decision.empty = is_empty();
  decision.pressure = Pressure::high;
  decision.admit_bytes = decision.room_bytes = settings_.gate ? 0 : kAdmitAnything;
  decision.upper = upper_;
  decision.why = seen.runtime_answers ? "memory cannot be read: nothing is throttled or released"
                                      : "the runtime does not answer: throttles stay as they are";
  return decision;
}

bool HeadroomPolicy::is_empty() const {
  const auto& all = residents_.all();
  return std::all_of(all.begin(), all.end(),
                     [](const auto& entry) { return entry.second.exempt.has_value(); });
}

void HeadroomPolicy::admit(const Situation& situation, Decision& decision) const {
  const auto& all = residents_.all();
  const bool paused = std::any_of(all.begin(), all.end(),
                                  [](const auto& entry) { return entry.second.pause.has_value(); });
  const double room = static_cast<double>(situation.free) / settings_.overcommit_factor -
                      static_cast<double>(situation.possible);
  const bool shut = paused || !situation.safe;
  decision.room_bytes = !settings_.gate ? kAdmitAnything
                        : shut          ? 0
                               : static_cast<std::int64_t>(std::clamp(room, 0.0, kRoomMax));
  decision.admit_bytes =
      decision.empty ? std::max(decision.room_bytes, situation.capacity) : decision.room_bytes;
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

std::unique_ptr<Policy> make_headroom(const PolicySettings& settings) {
  return std::make_unique<HeadroomPolicy>(settings);
}

}  // namespace sluice::node_agent
