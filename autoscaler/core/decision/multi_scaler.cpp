#include "autoscaler/core/decision/multi_scaler.h"

#include "common/ring/hash_ring.h"

#include <utility>

namespace sluice::autoscaler {
namespace {

constexpr Duration kSecond = std::chrono::seconds{1};

}  // namespace

std::optional<ScalerHandle> MultiScaler::add(const RevisionId& revision, RevisionScalerSpec spec,
                                             std::int32_t ready, TimePoint now) {
  if (size() >= kRevisionsMax || by_revision_.contains(revision)) return std::nullopt;
  auto index = static_cast<std::uint32_t>(entries_.size());
  if (free_.empty()) {
    entries_.emplace_back();
  } else {
    index = free_.back();
    free_.pop_back();
  }
  Entry& entry = entries_[index];
  spec.revision = revision.name;
  entry.scaler = std::make_unique<RevisionScaler>(std::move(spec), ready, now);
  entry.revision = &by_revision_.emplace(revision, index).first->first;
  wheel_.add(index, ring::hash_of(revision.space + "/" + revision.name));
  return ScalerHandle{index, entry.generation};
}

std::unique_ptr<RevisionScaler> MultiScaler::remove(ScalerHandle handle) {
  if (scaler(handle) == nullptr) return nullptr;
  Entry& entry = entries_[handle.index];
  wheel_.remove(handle.index);
  by_revision_.erase(by_revision_.find(*entry.revision));
  entry.revision = nullptr;
  ++entry.generation;
  free_.push_back(handle.index);
  return std::move(entry.scaler);
}

std::optional<ScalerHandle> MultiScaler::find(const RevisionId& revision) const {
  const auto at = by_revision_.find(revision);
  if (at == by_revision_.end()) return std::nullopt;
  return ScalerHandle{at->second, entries_[at->second].generation};
}

RevisionScaler* MultiScaler::scaler(ScalerHandle handle) const {
  if (handle.index >= entries_.size()) return nullptr;
  const Entry& entry = entries_[handle.index];
  return entry.generation == handle.generation ? entry.scaler.get() : nullptr;
}

std::optional<ScalerHandle> MultiScaler::push(const RevisionId& revision, const Stat& stat,
                                              std::optional<TimePoint> stamp, StatDoor door,
                                              TimePoint now, std::optional<Duration> newest) {
  const auto handle = find(revision);
  if (!handle) {
    ++counts_.unknown;
    return std::nullopt;
  }
  if (flaw_of(stat)) {
    ++counts_.flawed;
    return std::nullopt;
  }
  RevisionScaler& known = *entries_[handle->index].scaler;
  const TimePoint at = time_of(stamp, door, now);
  if (at <= now - known.spec().decider.stable_window) {
    ++counts_.late;
    return std::nullopt;
  }
  ++counts_.recorded;
  if (stamp && (*stamp > now + kSecond || at > *stamp + kSecond)) ++counts_.restamped;
  known.note_time(now);
  const auto began = newest ? std::optional{now - *newest} : std::nullopt;
  return known.push(stat, at, began) ? handle : std::nullopt;
}

void MultiScaler::take_due(TimePoint now, std::vector<Due>& due) {
  due.clear();
  visits_.clear();
  wheel_.take_due(now, visits_);
  for (const TickWheel::Visit& visit : visits_) {
    due.push_back({{visit.item, entries_[visit.item].generation}, visit.tick});
  }
}

}  // namespace sluice::autoscaler
