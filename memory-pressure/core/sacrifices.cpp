#include "memory-pressure/core/sacrifices.h"

#include "memory-pressure/core/turn_order.h"
#include <algorithm>
#include <tuple>

namespace sluice::node_agent {
namespace {

/// A victim that has not gone this long after its grace was not ended: another may be chosen.
constexpr Duration kNextAfter = std::chrono::seconds{20};

bool may_be_sacrificed(const Resident& resident) {
  const Marks& marks = resident.seen.marks;
  return resident.pause && !resident.exempt && resident.seen.working_set &&
         (!marks.job || marks.sacrifice_jobs);
}

/// Memory won per second of work lost: high is cheap.
double worth(const Resident& resident, TimePoint now) {
  return static_cast<double>(resident.seen.working_set.value_or(0)) /
         std::max(1.0, to_seconds(age(resident, now)));
}

/// Whether the kernel is about to choose a victim itself, and would take the one with the most work
/// in it: at the present rate the node is full within the second.
bool is_imminent(const Situation& situation) {
  return situation.critical &&
         situation.growth >= static_cast<double>(situation.capacity - situation.used);
}

}  // namespace

bool Sacrifices::is_under_way(Residents& residents, TimePoint now) {
  if (victim_.empty()) return false;
  const auto found = residents.all().find(victim_);
  if (found == residents.all().end()) {
    // Its memory is only now coming back: the wait for the next begins here.
    victim_.clear();
    last_ = now;
    return false;
  }
  if (now - *last_ < settings_.sacrifice_grace + kNextAfter) return true;
  found->second.leaving = false;
  victim_.clear();
  return false;
}

std::optional<Sacrifice> Sacrifices::choose(Residents& residents, const Situation& situation,
                                            std::optional<TimePoint> exhausted_since) {
  if (is_under_way(residents, situation.now)) return std::nullopt;
  if (!exhausted_since || !situation.over || situation.safe) return std::nullopt;
  // One container always runs and frees in the end: below the emergency a pause may mend it yet,
  // and the work of the victim would be lost for nothing.
  const Duration wait = is_imminent(situation) ? settings_.deadlock_after : settings_.pause_max / 2;
  if (situation.now - *exhausted_since < wait) return std::nullopt;
  if (last_ && situation.now - *last_ < wait) return std::nullopt;

  Resident* cheapest = nullptr;
  const auto key = [&](const Resident& resident) {
    return std::tuple{!resident.growth.is_leaking(), class_rank(resident.seen),
                      -worth(resident, situation.now)};
  };
  for (auto& [id, resident] : residents.all()) {
    if (!may_be_sacrificed(resident)) continue;
    if (!cheapest || key(resident) < key(*cheapest)) cheapest = &resident;
  }
  if (!cheapest) return std::nullopt;
  cheapest->leaving = true;
  victim_ = cheapest->seen.id;
  last_ = situation.now;
  return Sacrifice{.id = victim_,
                   .grace = situation.critical ? Duration::zero() : settings_.sacrifice_grace,
                   .why = "all containers are throttled to the limit: " + in_words(situation)};
}

}  // namespace sluice::node_agent
