#include "autoscaler/core/decision/tick_wheel.h"

#include "common/base/check.h"

#include <algorithm>

namespace sluice::autoscaler {

void TickWheel::add(std::uint32_t item, std::uint64_t hash) {
  const auto slot = static_cast<std::size_t>(hash % kSlots);
  if (places_.size() <= item) places_.resize(item + std::size_t{1});
  places_[item] = {slot, slots_[slot].size(), static_cast<std::int64_t>(hash / kSlots % 2)};
  slots_[slot].push_back(item);
}

void TickWheel::remove(std::uint32_t item) {
  CHECK(item < places_.size());
  const Place place = places_[item];
  std::vector<std::uint32_t>& slot = slots_[place.slot];
  CHECK(place.index < slot.size() && slot[place.index] == item);
  slot[place.index] = slot.back();
  places_[slot.back()].index = place.index;
  slot.pop_back();
}

void TickWheel::take_due(TimePoint now, std::vector<Visit>& visits) {
  const std::int64_t present = now.time_since_epoch() / kSlot;
  const std::int64_t before = std::min(visited_.value_or(present - 1), present);
  // After a pause of more than a second some slots came round more than once: one of two visits in
  // a row is always a tick.
  const std::int64_t last = std::min(present, before + kSlots);
  for (std::int64_t at = before + 1; at <= last; ++at) {
    visit(at, at + kSlots <= present, visits);
  }
  visited_ = present;
}

void TickWheel::visit(std::int64_t at, bool twice, std::vector<Visit>& visits) const {
  const std::int64_t second = at / kSlots;
  for (const std::uint32_t item : slots_[static_cast<std::size_t>(at % kSlots)]) {
    visits.push_back({item, twice || second % 2 == places_[item].odd});
  }
}

std::optional<TimePoint> TickWheel::next_due() const {
  const std::int64_t from = visited_.value_or(-1) + 1;
  for (std::int64_t at = from; at < from + kSlots; ++at) {
    if (!slots_[static_cast<std::size_t>(at % kSlots)].empty()) return TimePoint{at * kSlot};
  }
  return std::nullopt;
}

}  // namespace sluice::autoscaler
