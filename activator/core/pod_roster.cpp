#include "activator/core/pod_roster.h"

#include <algorithm>

namespace sluice::activator {

void PodRoster::list(const PodState& state, std::uint32_t limit) {
  const auto known = slot_of_.find(state.id);
  const std::uint32_t slot = known == slot_of_.end() ? obtain_slot(state.id) : known->second;
  Pod& pod = pods_[slot];
  if (pod.listed && pod.avoid == state.avoid && pod.limit == limit) {
    return;
  }
  if (pod.listed) {
    delist(slot);
  } else {
    pod.generation = ++generation_;
    pod.enlisted = pod.generation;
    pod.oldest = known == slot_of_.end() ? pod.generation : pod.oldest;
  }
  pod.avoid = state.avoid;
  pod.limit = limit;
  enlist(slot);
}

bool PodRoster::unlist(const PodId& id) {
  const auto known = slot_of_.find(id);
  if (known == slot_of_.end() || !pods_[known->second].listed) {
    return false;
  }
  const std::uint32_t slot = known->second;
  end_pause(slot);
  delist(slot);
  if (pods_[slot].load == 0) {
    release_slot(slot);
  }
  return true;
}

bool PodRoster::renew(const PodId& id) {
  const auto known = slot_of_.find(id);
  if (known == slot_of_.end() || !pods_[known->second].listed) {
    return false;
  }
  pods_[known->second].generation = ++generation_;
  return true;
}

void PodRoster::pause(PodRef ref, TimePoint until) {
  if (ref.slot >= pods_.size() || !pods_[ref.slot].listed ||
      ref.generation < pods_[ref.slot].enlisted) {
    return;
  }
  Pod& pod = pods_[ref.slot];
  until = pod.paused ? std::max(until, pod.paused_until) : until;
  end_pause(ref.slot);
  pod.paused = true;
  pod.paused_until = until;
  paused_.emplace(until, ref.slot);
  refresh(ref.slot);
}

void PodRoster::resume_due(TimePoint now) {
  while (!paused_.empty() && paused_.begin()->first <= now) {
    resume(paused_.begin()->second);
  }
}

std::optional<TimePoint> PodRoster::next_resume() const {
  return paused_.empty() ? std::nullopt : std::optional<TimePoint>(paused_.begin()->first);
}

bool PodRoster::offers(PodRef pod) const {
  if (pod.slot >= pods_.size()) {
    return false;
  }
  const Pod& known = pods_[pod.slot];
  return known.listed && known.generation == pod.generation &&
         (!known.avoid || preferred_.size() == 0) &&
         (known.avoid ? *avoided_ : preferred_).is_open(pod.slot);
}

std::optional<std::int64_t> PodRoster::capacity() const {
  return unlimited_ > 0 ? std::nullopt : std::optional<std::int64_t>(limits_);
}

void PodRoster::enlist(std::uint32_t slot) {
  Pod& pod = pods_[slot];
  if (pod.avoid && !avoided_) {
    avoided_ = std::make_unique<PodLine>(draws_);
  }
  const PodId& id = ids_[slot];
  line_of(pod).insert(slot, [&](std::uint32_t other) { return ids_[other] < id; });
  pod.listed = true;
  limits_ += pod.limit;
  unlimited_ += pod.limit == 0 ? 1U : 0U;
  refresh(slot);
}

void PodRoster::delist(std::uint32_t slot) {
  Pod& pod = pods_[slot];
  PodLine& line = line_of(pod);
  const bool was_short = line.is_short();
  line.erase(slot);
  if (draws_ && line.is_short() && !was_short) {
    for (std::size_t index = 0; index < line.open_count(); ++index) {
      line.set_load(line.any_open(index), pods_[line.any_open(index)].load);
    }
  }
  pod.listed = false;
  pod.open = false;
  limits_ -= pod.limit;
  unlimited_ -= pod.limit == 0 ? 1U : 0U;
}

void PodRoster::end_pause(std::uint32_t slot) {
  Pod& pod = pods_[slot];
  if (pod.paused) {
    paused_.erase({pod.paused_until, slot});
    pod.paused = false;
  }
}

std::uint32_t PodRoster::obtain_slot(const PodId& id) {
  std::uint32_t slot = 0;
  if (free_.empty()) {
    slot = static_cast<std::uint32_t>(pods_.size());
    pods_.emplace_back();
    ids_.emplace_back();
  } else {
    slot = free_.back();
    free_.pop_back();
  }
  pods_[slot] = Pod{.used = true};
  ids_[slot] = id;
  slot_of_.emplace(id, slot);
  return slot;
}

// The last pod that goes takes all memory with it: most revisions sleep.
void PodRoster::release_slot(std::uint32_t slot) {
  CHECK(pods_[slot].used && !pods_[slot].listed && pods_[slot].load == 0);
  slot_of_.erase(ids_[slot]);
  if (slot_of_.empty()) {
    pods_ = decltype(pods_)();
    ids_ = decltype(ids_)();
    free_ = decltype(free_)();
    slot_of_ = decltype(slot_of_)();
    preferred_.release();
    avoided_.reset();
    return;
  }
  pods_[slot].used = false;
  ids_[slot] = {};
  free_.push_back(slot);
}

}  // namespace sluice::activator
