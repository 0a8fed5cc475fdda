#include "memory-pressure/core/resident.h"

#include "memory-pressure/core/ladder.h"
#include <algorithm>
#include <limits>
#include <set>

namespace sluice::node_agent {
namespace {

constexpr std::size_t kEndedMax = 1024;

std::string life(const Container& container) {
  return container.pod_uid + '/' + container.name;
}

std::int64_t expected_growth(const Resident& resident, const PolicySettings& settings,
                             TimePoint now) {
  const std::int64_t held = resident.seen.working_set.value_or(0);
  const double horizon = to_seconds(settings.horizon);
  const double old = std::max(1.0, to_seconds(age(resident, now)));
  const double rate = std::max({resident.growth.slope(), static_cast<double>(held) / old, 0.0});
  return std::max({static_cast<std::int64_t>(rate * horizon), resident.growth.largest_rise(),
                   resident.growth.high_water() - held});
}

}  // namespace

Duration age(const Resident& resident, TimePoint now) {
  return resident.age_then + (now - resident.first_seen);
}

CpuQuota quota_in_force(const Resident& resident) {
  return resident.pause ? resident.pause->quota : resident.original;
}

std::int64_t possible_growth(const Resident& resident, const CpuQuota& quota, std::int64_t capacity,
                             const PolicySettings& settings, TimePoint now) {
  const Container& seen = resident.seen;
  const std::int64_t limit =
      seen.memory_limit > 0 ? std::min(seen.memory_limit, capacity) : capacity;
  std::int64_t room = std::max<std::int64_t>(0, limit - seen.working_set.value_or(0));
  // Programs of the system run on every node for as long as the node does, often without a limit:
  // taking them for strangers would shut every gate.
  const bool known = seen.marks.system || age(resident, now) >= settings.known_after;
  if (seen.claim > 0) {
    const std::int64_t left = seen.claim - seen.working_set.value_or(0);
    room = std::min(room, std::max(left, expected_growth(resident, settings, now)));
  } else if (known && seen.working_set) {
    room = std::min(room, expected_growth(resident, settings, now));
  }
  if (!is_unlimited(quota)) {
    const double fault = millicores(quota) * static_cast<double>(settings.growth_per_millicore) *
                         to_seconds(settings.horizon);
    if (fault < static_cast<double>(room)) room = static_cast<std::int64_t>(fault);
  }
  return room;
}

void Residents::update(const Observation& observation, TimePoint now) {
  std::set<std::string_view> present;
  for (const Container& container : observation.containers) present.insert(container.id);
  for (auto it = all_.begin(); it != all_.end();) {
    if (present.contains(it->first)) {
      ++it;
      continue;
    }
    part(it->second);
    it = all_.erase(it);
  }
  for (const Container& container : observation.containers) {
    const auto found = all_.find(container.id);
    if (found == all_.end()) greet(container, observation, now);
    refresh(all_.at(container.id), container, observation, now);
  }
  first_ = false;
}

void Residents::part(const Resident& resident) {
  // A batch job has no probe whose failure could have ended it.
  if (!resident.pause || is_batch(resident.seen)) return;
  if (ended_paused_.size() >= kEndedMax) ended_paused_.clear();
  ended_paused_[life(resident.seen)] = resident.seen.attempt;
}

void Residents::greet(const Container& container, const Observation& observation, TimePoint now) {
  Resident resident;
  resident.first_seen = now;
  resident.age_then = std::max(Duration::zero(), observation.now - container.started);
  if (const auto ended = ended_paused_.find(life(container)); ended != ended_paused_.end()) {
    if (container.attempt > ended->second) floors_.raise(container);
    ended_paused_.erase(ended);
  }
  // A program before us was killed while it throttled these: they count as paused until this
  // policy's first look has said whether they need to be.
  if (first_ && container.quota && is_signature(*container.quota)) {
    resident.pause = Pause{.step = step_of(*container.quota, settings_),
                           .quota = *container.quota,
                           .since = now,
                           .changed = now,
                           .why = "throttled before this start"};
  }
  all_.emplace(container.id, std::move(resident));
}

void Residents::refresh(Resident& resident, const Container& container,
                        const Observation& observation, TimePoint now) {
  resident.seen = container;
  resident.exempt = exemption(container, observation.containers);
  const bool fresh = observation.now - container.sampled <= 2 * settings_.sample;
  if (container.working_set && fresh) {
    resident.growth.sample(*container.working_set, container.sampled, now);
  }
  if (!resident.pause && container.quota && !is_signature(*container.quota)) {
    resident.original = normalised(*container.quota);
  }
  if (resident.pause && resident.pause->was_ready && container.ready == false) {
    floors_.raise(container);
    resident.pause.reset();
    resident.ran_since = now;
  }
  resident.floor = floors_.floor(container);
}

double Residents::growth() const {
  double sum = 0;
  for (const auto& [id, resident] : all_) sum += std::max(0.0, resident.growth.slope());
  return sum;
}

std::vector<Resident*> Residents::family(Resident& resident) {
  if (!resident.seen.marks.whole_pod) return {&resident};
  std::vector<Resident*> members;
  for (auto& [id, other] : all_) {
    if (other.seen.pod_uid == resident.seen.pod_uid) members.push_back(&other);
  }
  return members;
}

}  // namespace sluice::node_agent
