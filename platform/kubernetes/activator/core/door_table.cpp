#include "platform/kubernetes/activator/core/door_table.h"

#include "common/base/check.h"

#include <utility>

namespace sluice::activator {

void DoorTable::want(const RevisionId& revision, std::optional<std::uint16_t> port) {
  const auto before = wanted_.find(revision);
  if (before != wanted_.end()) {
    if (before->second == port) return;
    doors_.at(before->second).claims.erase(revision);
    unsettled_.insert(before->second);
    wanted_.erase(before);
  }
  if (!port) return;
  wanted_.emplace(revision, *port);
  doors_[*port].claims.insert(revision);
  unsettled_.insert(*port);
}

DoorTable::Plan DoorTable::plan() {
  Plan plan;
  for (const std::uint16_t port : std::exchange(unsettled_, {})) {
    const auto found = doors_.find(port);
    if (found == doors_.end()) continue;
    Door& door = found->second;
    if (door.holder && !door.claims.contains(*door.holder)) {
      if (door.state == State::open) {
        plan.close.push_back({port, *door.holder});
        --open_;
      }
      door.holder.reset();
      door.state = State::closed;
    }
    if (door.claims.empty()) {
      doors_.erase(found);
      continue;
    }
    if (door.state == State::open) continue;
    if (!door.holder) door.holder = *door.claims.begin();
    plan.open.push_back({port, *door.holder});
  }
  return plan;
}

void DoorTable::opened(std::uint16_t port) {
  Door& door = doors_.at(port);
  CHECK(door.holder && door.state == State::closed);
  door.state = State::open;
  ++open_;
}

void DoorTable::failed(std::uint16_t port) {
  Door& door = doors_.at(port);
  CHECK(door.holder && door.state == State::closed);
  unsettled_.insert(port);
}

}  // namespace sluice::activator
