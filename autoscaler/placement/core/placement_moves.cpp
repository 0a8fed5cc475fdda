// What moves of replicas between places need of placement.

#include "autoscaler/placement/core/move.h"
#include "autoscaler/placement/core/placement.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace sluice::placement {

Placement::Service Placement::service_of(const RevisionId& revision, const Known& known) {
  return {.id = known.service,
          .revision = revision,
          .each = known.each,
          .wish = &known.wish,
          .order = &*known.order};
}

Placement::Entry* Placement::entry_of(ServiceId service) const {
  const std::size_t index = index_of(service);
  return index < by_service_.size() ? by_service_[index] : nullptr;
}

std::optional<Placement::Service> Placement::find(const RevisionId& revision) const {
  const auto found = known_.find(revision);
  if (found == known_.end() || !found->second.order) return std::nullopt;
  return service_of(revision, found->second);
}

std::optional<Placement::Service> Placement::find(ServiceId service) const {
  const Entry* const found = entry_of(service);
  if (found == nullptr || !found->second.order) return std::nullopt;
  return service_of(found->first, found->second);
}

std::int32_t Placement::count(ServiceId service, PlaceId place) const {
  std::int64_t replicas = 0;
  for (const Holding& holding : ledger_.holdings(service)) {
    if (ledger_.node(holding.node).place == place) replicas += holding.used.slots;
  }
  return static_cast<std::int32_t>(replicas);
}

std::int32_t Placement::room(ServiceId service, PlaceId place) const {
  const auto found = find(service);
  if (!found) return 0;
  std::int64_t more = 0;
  for (const NodeId node : ledger_.nodes(place)) {
    if (!ledger_.node(node).takes()) continue;
    std::int64_t here = times(ledger_.free(node), found->each);
    if (const std::int32_t most = found->wish->max_per_node; most > 0) {
      here = std::min(here, std::max<std::int64_t>(0, most - ledger_.count(node, service)));
    }
    more += here;
  }
  return static_cast<std::int32_t>(std::min<std::int64_t>(
      std::min(more, spare()), std::numeric_limits<std::int32_t>::max() / 2));
}

std::int32_t Placement::reserve(MoveId move, ServiceId service, PlaceId place,
                                std::int32_t replicas, TimePoint now) {
  MoveRoom& room = moves_[move];
  room.service = service;
  for (const Promise& each : room.rooms) (void)ledger_.release(each.id);
  auto& kept = room.rooms;
  kept.clear();
  const auto found = find(service);
  const std::int64_t most = std::min<std::int64_t>(replicas, spare());
  std::int32_t reserved = 0;
  while (found && reserved < most) {
    const Choice choice = choose_in(ledger_,
                                    {.service = service,
                                     .need = found->each,
                                     .order = found->order,
                                     .max_per_node = found->wish->max_per_node},
                                    place);
    if (!choice.node) break;
    const ReservationId id = ledger_.reserve({.owner = Owner::of(move),
                                              .service = service,
                                              .node = *choice.node,
                                              .room = found->each,
                                              .expires = now + kPromised,
                                              .purpose = Purpose::move});
    kept.push_back({.node = *choice.node, .place = place, .replicas = 1, .id = id});
    ++reserved;
  }
  if (kept.empty()) moves_.erase(move);
  return reserved;
}

void Placement::promise_freed(ServiceId service, PlaceId place, std::optional<ServiceId> demand) {
  Entry* const found = entry_of(service);
  if (found == nullptr) return;
  found->second.freed.reset();
  if (demand) found->second.freed = {.place = place, .demand = *demand};
}

// What a move frees is its demand's at once: no other service asks in between.
void Placement::give_back(const Known& known, NodeId node, const Resources& room) {
  ledger_.give_back(node, known.service, room);
  if (!known.freed || ledger_.node(node).place != known.freed->place) return;
  Entry* const demand = entry_of(known.freed->demand);
  if (demand != nullptr) keep(demand->second, node, room, asked_at_ + kHeldFor);
}

void Placement::keep(Known& known, NodeId node, const Resources& room, TimePoint until) {
  const ReservationId id = ledger_.reserve({.owner = Owner::of(known.service),
                                            .service = known.service,
                                            .node = node,
                                            .room = room,
                                            .expires = until});
  known.kept.push_back({.node = node, .room = room, .until = until, .id = id});
}

// For the length of one ask(): what is kept for it is room like any other.
void Placement::open_kept(Known& known, TimePoint now) {
  for (const Kept& each : known.kept) (void)ledger_.release(each.id);
  std::erase_if(known.kept, [now](const Kept& each) { return each.until <= now; });
}

// Of what it did not take, as much as is still there is kept on.
void Placement::close_kept(Known& known) {
  const std::vector<Kept> before = std::exchange(known.kept, {});
  for (const Kept& each : before) {
    const Resources room = common_part(each.room, ledger_.free(each.node));
    if (room != Resources{}) keep(known, each.node, room, each.until);
  }
}

std::int32_t Placement::reserved(MoveId move) const {
  const auto found = moves_.find(move);
  return found == moves_.end() ? 0 : static_cast<std::int32_t>(found->second.rooms.size());
}

// Replicas that have appeared on the node were reserved room by a move of theirs. Returns how many.
std::int32_t Placement::redeem_move(ServiceId service, NodeId node, std::int32_t replicas) {
  std::int32_t redeemed = 0;
  for (auto& [move, room] : moves_) {
    if (room.service != service) continue;
    std::erase_if(room.rooms, [&](const Promise& each) {
      if (each.node != node || redeemed >= replicas) return false;
      (void)ledger_.release(each.id);
      ++redeemed;
      return true;
    });
  }
  return redeemed;
}

void Placement::prefer(const RevisionId& revision, PlaceId place) {
  const auto found = known_.find(revision);
  if (found != known_.end()) found->second.first = place;
}

std::string Placement::first_place(const RevisionId& revision) const {
  const auto found = known_.find(revision);
  if (found == known_.end() || !found->second.first) return {};
  return ledger_.place(*found->second.first).name;
}

}  // namespace sluice::placement
