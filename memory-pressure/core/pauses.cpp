// Two reasons throttle. The safety test looks at what could grow: it pauses as many as it takes to
// hold again, at once, but only where a quota really holds growth back; a pause that frees no
// growth is the hold-and-wait trap of memory-pressure.md 4. Usage above the threshold is the blunt
// reason: the few of one step, then a wait to see whether that bent the curve, then deeper.

#include "memory-pressure/core/pauses.h"

#include "memory-pressure/core/ladder.h"
#include "memory-pressure/core/turn_order.h"
#include <algorithm>

namespace sluice::node_agent {
namespace {

/// Share of capacity. Who can add less is no grower: pausing it does not help.
constexpr double kWorthwhile = 0.005;
/// Share of capacity by which usage must have fallen to say that a restriction worked.
constexpr double kBent = 0.005;

std::int64_t share(double part, const Situation& situation) {
  return static_cast<std::int64_t>(part * static_cast<double>(situation.capacity));
}

/// With its pod, a moment ago.
bool is_held(const Resident& resident) {
  return resident.pause && !resident.pause->releasing;
}

bool is_grower(const Resident& resident, const Situation& situation,
               const PolicySettings& settings) {
  return resident.growth.is_leaking() ||
         possible_growth(resident, quota_in_force(resident), situation.capacity, settings,
                         situation.now) >= share(kWorthwhile, situation);
}

}  // namespace

void Pauses::update(Residents& residents, Situation& situation) {
  exhausted_ = false;
  end_of_exempt(residents, situation);
  keep_one_running(residents, situation);
  rotate(residents, situation);
  judge(situation, settings_);
  if (situation.trouble) {
    restrict(residents, situation);
  } else {
    release(residents, situation);
  }
}

std::optional<TimePoint> Pauses::exhausted_since() const {
  return exhausted_ ? restricted_at_ : std::nullopt;
}

void Pauses::end_of_exempt(Residents& residents, Situation& situation) {
  for (auto& [id, resident] : residents.all()) {
    if (resident.pause && (resident.exempt || resident.leaving)) end(resident, situation);
  }
}

void Pauses::keep_one_running(Residents& residents, Situation& situation) {
  if (count_runners(residents) > 0) return;
  const auto order = order_of_release(residents, settings_);
  if (order.empty()) return;
  for (Resident* member : residents.family(*order.front())) {
    if (member->pause) end(*member, situation);
  }
}

void Pauses::rotate(Residents& residents, Situation& situation) {
  Resident* longest = nullptr;
  std::int64_t paused = 0;
  for (auto& [id, resident] : residents.all()) {
    if (!resident.pause) continue;
    ++paused;
    if (!longest || resident.pause->since < longest->pause->since) longest = &resident;
  }
  if (!longest || situation.now - longest->pause->since < settings_.pause_max) return;
  // One turn after the other: those that were paused together do not all wake together.
  const Duration turn = settings_.pause_max / (paused + 1);
  if (rotated_at_ && situation.now - *rotated_at_ < turn) return;
  rotated_at_ = situation.now;
  for (Resident* member : residents.family(*longest)) {
    if (member->pause) end(*member, situation);
    member->spared_until = situation.now + turn;
  }
}

void Pauses::restrict(Residents& residents, Situation& situation) {
  if (restrict_for_safety(residents, situation)) return note_restriction(situation);
  const bool due = situation.critical || waited(settings_.escalate_after, situation.now);
  if ((situation.over || situation.stalling) && due && restrict_for_usage(residents, situation)) {
    return note_restriction(situation);
  }
  escalate(residents, situation);
}

bool Pauses::restrict_for_safety(Residents& residents, Situation& situation) {
  if (situation.safe || situation.usage <= settings_.concern) return false;
  bool acted = false;
  for (Resident* resident : order_of_restriction(residents, situation, settings_)) {
    if (fits(situation.possible, situation.free, settings_)) break;
    if (is_held(*resident)) continue;
    auto step = step_that_helps(*resident, situation.capacity, settings_, situation.now);
    if (!step && resident->growth.is_leaking()) step = kStepQuota;
    if (!step) continue;
    if (situation.critical) step = kStepDeepest;
    acted |= pause(residents, *resident, *step, situation, "could grow more than is free") > 0;
  }
  return acted;
}

bool Pauses::restrict_for_usage(Residents& residents, Situation& situation) {
  std::size_t left = settings_.step;
  for (Resident* resident : order_of_restriction(residents, situation, settings_)) {
    if (left == 0) break;
    if (is_held(*resident) || !is_grower(*resident, situation, settings_)) continue;
    const std::uint32_t step = situation.critical ? kStepDeepest : kStepGentle;
    const std::string why = situation.over ? "usage is above the threshold" : "the node stalls";
    if (pause(residents, *resident, step, situation, why) > 0) --left;
  }
  return left < settings_.step;
}

void Pauses::escalate(Residents& residents, Situation& situation) {
  const bool bent = situation.used < used_then_ - share(kBent, situation);
  const bool last_runner = count_runners(residents) <= 1 && !situation.safe;
  const Duration wait = last_runner ? settings_.deadlock_after : settings_.escalate_after;
  if (!situation.critical && (bent || !waited(wait, situation.now))) return;
  // A container that could be throttled comes before any is throttled deeper.
  const auto order = order_of_restriction(residents, situation, settings_);
  const bool others = count_runners(residents) > 1 &&
                      std::any_of(order.begin(), order.end(), [&](const Resident* resident) {
                        return is_grower(*resident, situation, settings_);
                      });
  if (others && !situation.critical) return;
  bool acted = false;
  for (auto& [id, resident] : residents.all()) {
    if (!resident.pause) continue;
    const auto step =
        situation.critical ? std::optional{kStepDeepest} : step_below(resident, settings_);
    if (!step) continue;
    const CpuQuota quota = quota_at(*step, resident.floor, settings_);
    if (!is_stricter(quota, resident.pause->quota)) continue;
    set(resident, quota, situation);
    resident.pause->releasing = false;
    acted = true;
  }
  if (acted) return note_restriction(situation);
  exhausted_ = true;
}

void Pauses::release(Residents& residents, Situation& situation) {
  const std::int64_t margin = share(settings_.release_margin, situation);
  for (Resident* first : order_of_release(residents, settings_)) {
    const Pause& pause = *first->pause;
    if (situation.now - pause.since < settings_.pause_min) continue;
    const bool at_once = situation.usage < settings_.lower;
    const auto next = at_once ? std::nullopt : stage_above(pause.quota, first->original);
    std::int64_t after = situation.possible;
    const auto family = residents.family(*first);
    for (const Resident* member : family) {
      if (!member->pause) continue;
      after -= growth_at(*member, member->pause->quota, situation);
      after += growth_at(*member, next.value_or(member->original), situation);
    }
    // The reason has gone when it could run and the state were safe, or when usage is so far from
    // the edge that no container would be paused for what could grow.
    const bool fitting = fits(after, situation.free - margin, settings_);
    const bool calm = situation.usage < settings_.concern - settings_.release_margin;
    // The oldest first, and none before it: a small one that still fits could starve it.
    if (!fitting && !calm) return;
    for (Resident* member : family) {
      if (!member->pause) continue;
      if (next) {
        set(*member, *next, situation);
        member->pause->releasing = true;
      } else {
        end(*member, situation);
      }
    }
    return;
  }
}

std::size_t Pauses::pause(Residents& residents, Resident& first, std::uint32_t step,
                          Situation& situation, const std::string& why) {
  const auto family = residents.family(first);
  std::size_t running = 0;
  for (const Resident* member : family) {
    if (!member->pause && !member->exempt && !member->leaving) ++running;
  }
  if (running > 0 && count_runners(residents) <= running) return 0;
  std::size_t changed = 0;
  for (Resident* member : family) {
    if (member->exempt || member->leaving) continue;
    const CpuQuota quota = quota_at(step, member->floor, settings_);
    // We never give more than a container was given.
    if (!is_stricter(quota, quota_in_force(*member))) continue;
    if (!member->pause) {
      member->pause = Pause{.turn = ++turn_,
                            .quota = member->original,
                            .was_ready = member->seen.ready.value_or(false),
                            .since = situation.now,
                            .changed = situation.now,
                            .why = {}};
    }
    set(*member, quota, situation);
    member->pause->releasing = false;
    member->pause->why = why + ": " + in_words(situation);
    ++changed;
  }
  return changed;
}

void Pauses::set(Resident& resident, const CpuQuota& quota, Situation& situation) {
  situation.possible +=
      growth_at(resident, quota, situation) - growth_at(resident, resident.pause->quota, situation);
  resident.pause->quota = quota;
  resident.pause->step = step_of(quota, settings_);
  resident.pause->changed = situation.now;
}

void Pauses::end(Resident& resident, Situation& situation) {
  set(resident, resident.original, situation);
  resident.pause.reset();
  resident.ran_since = situation.now;
}

std::int64_t Pauses::growth_at(const Resident& resident, const CpuQuota& quota,
                               const Situation& situation) const {
  return possible_growth(resident, quota, situation.capacity, settings_, situation.now);
}

void Pauses::note_restriction(const Situation& situation) {
  restricted_at_ = situation.now;
  used_then_ = situation.used;
}

bool Pauses::waited(Duration least, TimePoint now) const {
  return !restricted_at_ || now - *restricted_at_ >= least;
}

}  // namespace sluice::node_agent
