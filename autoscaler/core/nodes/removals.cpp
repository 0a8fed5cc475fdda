#include "autoscaler/core/nodes/removals.h"

#include <algorithm>
#include <map>
#include <unordered_set>
#include <utility>

namespace sluice::autoscaler {
namespace {

// A pod that is not ready serves no request. One without a report is young, and as good as idle.
double busyness(const RemovalCandidate& pod) {
  if (pod.failed) return -2;
  return pod.ready ? pod.load.value_or(0) : -1;
}

}  // namespace

Removals::Removals(std::span<const PodId> released) {
  for (const PodId& pod : released) leaving_.push_back({pod, 0, true});
}

bool Removals::plan(std::span<const RemovalCandidate> pods, std::int32_t wanted,
                    std::span<const placement::PlaceShare> places) {
  bool changed = forget_gone(pods);
  if (places.empty()) {
    Candidates all;
    all.reserve(pods.size());
    for (const RemovalCandidate& pod : pods) all.push_back(&pod);
    return plan_place(all, wanted) || changed;
  }
  std::map<std::string_view, Candidates> by_place;
  for (const RemovalCandidate& pod : pods) by_place[pod.place].push_back(&pod);
  for (const auto& in : by_place) {
    const auto share = std::find_if(places.begin(), places.end(),
                                    [&in](const auto& each) { return each.place == in.first; });
    changed = plan_place(in.second, share == places.end() ? 0 : share->replicas) || changed;
  }
  return changed;
}

bool Removals::plan_place(const Candidates& pods, std::int32_t wanted) {
  std::unordered_set<std::string> leaving;
  for (const Leaving& pod : leaving_) leaving.insert(pod.id.name);
  Candidates staying;
  for (const RemovalCandidate* pod : pods) {
    if (!pod->terminating && !leaving.contains(pod->id.name)) staying.push_back(pod);
  }
  const auto want = static_cast<std::size_t>(std::max(0, wanted));
  if (staying.size() > want) {
    const std::size_t surplus = staying.size() - want;
    choose(std::move(staying), surplus);
    return true;
  }
  return staying.size() < want && take_back(pods, want - staying.size());
}

bool Removals::forget_gone(std::span<const RemovalCandidate> pods) {
  if (leaving_.empty()) return false;
  std::unordered_set<std::string> there;
  for (const RemovalCandidate& pod : pods) there.insert(pod.id.name);
  return std::erase_if(leaving_,
                       [&there](const Leaving& pod) { return !there.contains(pod.id.name); }) > 0;
}

// Those that may not be stopped yet before those that the platform may be stopping right now: such
// a pod drains, and refuses requests as draining.
bool Removals::take_back(const Candidates& pods, std::size_t count) {
  std::unordered_set<std::string> may_stay;
  for (const RemovalCandidate* pod : pods) {
    if (!pod->terminating) may_stay.insert(pod->id.name);
  }
  bool changed = false;
  for (const bool released : {false, true}) {
    for (std::size_t i = leaving_.size(); i > 0 && count > 0; --i) {
      const Leaving& pod = leaving_[i - 1];
      if (pod.released != released || !may_stay.contains(pod.id.name)) continue;
      leaving_.erase(leaving_.begin() + static_cast<std::ptrdiff_t>(i - 1));
      --count;
      changed = true;
    }
  }
  return changed;
}

void Removals::choose(Candidates staying, std::size_t count) {
  sort(staying);
  for (std::size_t i = 0; i < count; ++i) leaving_.push_back({staying[i]->id, 0, false});
}

// Among equals the throttled go, and of those the youngest: they have the least to lose.
void Removals::sort(Candidates& pods) {
  std::reverse(pods.begin(), pods.end());
  std::stable_sort(pods.begin(), pods.end(),
                   [](const RemovalCandidate* a, const RemovalCandidate* b) {
                     const double left = busyness(*a);
                     const double right = busyness(*b);
                     return left != right ? left < right : a->throttled && !b->throttled;
                   });
}

void Removals::told(std::uint64_t version) {
  for (Leaving& pod : leaving_) {
    if (pod.version == 0) pod.version = version;
  }
}

bool Removals::release(const std::function<bool(std::uint64_t version)>& applied) {
  bool changed = false;
  for (Leaving& pod : leaving_) {
    if (pod.released || pod.version == 0 || !applied(pod.version)) continue;
    pod.released = true;
    changed = true;
  }
  return changed;
}

bool Removals::leaving(const PodId& pod) const {
  return std::any_of(leaving_.begin(), leaving_.end(),
                     [&pod](const Leaving& each) { return each.id == pod; });
}

std::optional<std::uint64_t> Removals::awaited() const {
  std::optional<std::uint64_t> lowest;
  for (const Leaving& pod : leaving_) {
    if (pod.released || pod.version == 0) continue;
    if (!lowest || pod.version < *lowest) lowest = pod.version;
  }
  return lowest;
}

std::vector<PodId> Removals::released() const {
  std::vector<PodId> pods;
  for (const Leaving& pod : leaving_) {
    if (pod.released) pods.push_back(pod.id);
  }
  return pods;
}

}  // namespace sluice::autoscaler
