#include "autoscaler/placement/core/move_side.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <unordered_map>
#include <utility>

namespace sluice::placement {
namespace {

// A stop is not taken back: what does not end any more is another replica, of the same name.
bool another(const ReplicaView& before, const ReplicaView& now) {
  return before.stopping && !now.stopping;
}

}  // namespace

// What cannot be seen stays as it was seen: it has not gone, and it takes no request.
void MoveSide::look(const PlaceView& view, Duration at) {
  there_ = view.there;
  if (!there_) {
    for (Replica& replica : replicas_) {
      replica.seen.ready = false;
      replica.ready_since.reset();
    }
    looked_ = true;
    return;
  }
  std::unordered_map<std::string, Replica> before;
  for (Replica& replica : replicas_) {
    std::string name = replica.seen.id.name;
    before.emplace(std::move(name), std::move(replica));
  }
  replicas_.clear();
  replicas_.reserve(view.replicas.size());
  for (const ReplicaView& seen : view.replicas) {
    const auto known = before.find(seen.id.name);
    Replica replica;
    if (known != before.end() && !another(known->second.seen, seen)) {
      replica = std::move(known->second);
      before.erase(known);
    } else {
      replica.chosen = joins_ || !looked_;
    }
    if (replica.seen.progress != seen.progress) replica.moved_at = at;
    replica.seen = seen;
    if (!replica.able()) {
      replica.ready_since.reset();
    } else if (!replica.ready_since) {
      replica.ready_since = at;
    }
    replicas_.push_back(std::move(replica));
  }
  for (const auto& [name, replica] : before) gone_ += replica.stopped ? 1 : 0;
  looked_ = true;
}

std::int32_t MoveSide::live() const {
  return static_cast<std::int32_t>(std::count_if(
      replicas_.begin(), replicas_.end(), [](const Replica& replica) { return replica.lives(); }));
}

std::int32_t MoveSide::ready() const {
  return static_cast<std::int32_t>(std::count_if(
      replicas_.begin(), replicas_.end(), [](const Replica& replica) { return replica.able(); }));
}

std::int32_t MoveSide::settled(Duration hold, Duration at) const {
  return static_cast<std::int32_t>(
      std::count_if(replicas_.begin(), replicas_.end(), [hold, at](const Replica& replica) {
        return replica.ready_since && at - *replica.ready_since >= hold;
      }));
}

std::int32_t MoveSide::serving() const {
  return static_cast<std::int32_t>(
      std::count_if(replicas_.begin(), replicas_.end(),
                    [](const Replica& replica) { return replica.able() && replica.chosen; }));
}

std::int32_t MoveSide::failed() const {
  return static_cast<std::int32_t>(
      std::count_if(replicas_.begin(), replicas_.end(),
                    [](const Replica& replica) { return replica.lives() && replica.seen.failed; }));
}

std::int32_t MoveSide::stopping() const {
  return static_cast<std::int32_t>(std::count_if(
      replicas_.begin(), replicas_.end(), [](const Replica& replica) { return replica.stopped; }));
}

std::int32_t MoveSide::take_gone() {
  return std::exchange(gone_, 0);
}

std::int64_t MoveSide::in_flight() const {
  std::int64_t sum = 0;
  for (const Replica& replica : replicas_) sum += replica.seen.in_flight;
  return sum;
}

void MoveSide::assign(std::int32_t live, std::int32_t chosen) {
  std::vector<Replica*> living;
  for (Replica& replica : replicas_) {
    if (replica.lives()) living.push_back(&replica);
  }
  // To take requests: who is able to, who does, who was not to leave, who would be removed last.
  std::reverse(living.begin(), living.end());
  std::stable_sort(living.begin(), living.end(), [](const Replica* a, const Replica* b) {
    if (a->able() != b->able()) return a->able();
    if (a->chosen != b->chosen) return a->chosen;
    return !a->leaving && b->leaving;
  });
  const auto taking = static_cast<std::size_t>(std::max(0, chosen));
  for (std::size_t i = 0; i < living.size(); ++i) living[i]->chosen = i < taking;
  // To leave: who takes none, who is not able to, who was to leave already, and who would be
  // removed first.
  std::reverse(living.begin(), living.end());
  std::stable_sort(living.begin(), living.end(), [](const Replica* a, const Replica* b) {
    if (a->chosen != b->chosen) return b->chosen;
    if (a->able() != b->able()) return b->able();
    return a->leaving && !b->leaving;
  });
  const auto staying = std::min(living.size(), static_cast<std::size_t>(std::max(0, live)));
  const std::size_t leaving = living.size() - staying;
  for (std::size_t i = 0; i < living.size(); ++i) {
    Replica& replica = *living[i];
    replica.leaving = i < leaving;
    if (replica.leaving) replica.chosen = false;
    if (!replica.leaving) replica.drains_since.reset();
  }
}

bool MoveSide::drained(const Replica& replica, Duration at) const {
  if (replica.seen.in_flight == 0) return true;
  const Duration waited = at - *replica.drains_since;
  if (waited >= limits_.drain_max) return true;
  return waited >= limits_.request_max && at - replica.moved_at >= kStreamQuiet;
}

void MoveSide::drain(bool may_stop, Duration at) {
  if (!there_) return;
  for (Replica& replica : replicas_) {
    if (!replica.leaving || replica.stopped) continue;
    // Meanwhile requests may still come to it, and each has its time.
    if (!replica.seen.avoided || !may_stop) {
      replica.drains_since.reset();
      continue;
    }
    if (!replica.drains_since) replica.drains_since = at;
    if (!drained(replica, at)) continue;
    replica.stopped = true;
    replica.overdue = replica.seen.in_flight > 0;
    stopped_at_ = at;
  }
}

bool MoveSide::drained() const {
  return std::none_of(replicas_.begin(), replicas_.end(),
                      [](const Replica& replica) { return replica.leaving && !replica.stopped; });
}

void MoveSide::append_orders(MoveOrders& orders) const {
  for (const Replica& replica : replicas_) {
    if (!replica.chosen || replica.stopped) orders.avoid.push_back(replica.seen.id);
    if (replica.stopped) orders.stop.push_back(replica.seen.id);
    if (replica.overdue) orders.overdue.push_back(replica.seen.id);
  }
}

}  // namespace sluice::placement
