#include "activator/core/request_reporter.h"

#include "common/base/check.h"

#include <algorithm>
#include <utility>

namespace sluice::activator {

RequestReporter::Handle RequestReporter::open(RevisionId revision) {
  std::uint32_t index = 0;
  if (free_.empty()) {
    index = static_cast<std::uint32_t>(slots_.size());
    slots_.emplace_back();
  } else {
    index = free_.back();
    free_.pop_back();
  }
  Slot& slot = slots_[index];
  slot.revision = std::move(revision);
  slot.open = true;
  return {.index = index, .generation = slot.generation};
}

void RequestReporter::close(Handle handle) {
  Slot* slot = find(handle);
  if (slot == nullptr) {
    return;
  }
  *slot =
      Slot{.revision = {}, .stats = {}, .generation = slot->generation + 1, .awake = slot->awake};
  free_.push_back(handle.index);
}

bool RequestReporter::in(Handle handle, TimePoint now) {
  Slot* slot = find(handle);
  CHECK(slot != nullptr);
  const bool was_idle = !slot->stats.has_value();
  if (was_idle) {
    slot->stats.emplace(now);
    if (!std::exchange(slot->awake, true)) {
      awake_.push_back(handle.index);
    }
  }
  ++slot->in_flight;
  slot->newest = now;
  slot->stats->in(now);
  const bool due = std::exchange(slot->expected, false) || was_idle;
  if (due) slot->told += 1;
  return due;
}

void RequestReporter::expect(Handle handle) {
  if (Slot* const slot = find(handle)) slot->expected = true;
}

void RequestReporter::out(Handle handle, TimePoint now) {
  Slot* slot = find(handle);
  if (slot == nullptr) {
    return;
  }
  // A request in flight keeps the stats, so they exist.
  CHECK(slot->in_flight > 0 && slot->stats.has_value());
  slot->stats->out(now);
  --slot->in_flight;
}

RevisionStat RequestReporter::poke(Handle handle) const {
  const Slot* slot = find(handle);
  CHECK(slot != nullptr);
  return {.revision = slot->revision,
          .average_concurrent_requests = 1,
          .request_count = 1,
          .newest = Duration{0}};
}

void RequestReporter::report(TimePoint now, std::vector<RevisionStat>& stats) {
  std::erase_if(awake_, [&](std::uint32_t index) {
    Slot& slot = slots_[index];
    if (slot.stats) {
      const load::LoadReport seen = slot.stats->report(now);
      const double told = std::exchange(slot.told, 0.0);
      slot.newest = std::min(slot.newest, now);  // the clock may have stepped back
      const double average = std::max(seen.average_concurrency - told, 0.0);
      stats.push_back({.revision = slot.revision,
                       .average_concurrent_requests = average,
                       .request_count = std::max(seen.request_count - told, 0.0),
                       .newest = now - slot.newest});
      if (seen.average_concurrency == 0 && slot.in_flight == 0) {
        slot.stats.reset();
      }
    }
    slot.awake = slot.stats.has_value();
    return !slot.awake;
  });
}

std::int64_t RequestReporter::in_flight(Handle handle) const {
  const Slot* slot = find(handle);
  return slot == nullptr ? 0 : slot->in_flight;
}

RequestReporter::Slot* RequestReporter::find(Handle handle) {
  return const_cast<Slot*>(std::as_const(*this).find(handle));
}

const RequestReporter::Slot* RequestReporter::find(Handle handle) const {
  if (handle.index >= slots_.size()) {
    return nullptr;
  }
  const Slot& slot = slots_[handle.index];
  return slot.open && slot.generation == handle.generation ? &slot : nullptr;
}

}  // namespace sluice::activator
