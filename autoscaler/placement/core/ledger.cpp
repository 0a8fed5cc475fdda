#include "autoscaler/placement/core/ledger.h"

#include "common/base/check.h"

#include <algorithm>
#include <utility>

namespace sluice::placement {
namespace {

constexpr unsigned kHalf = 32;  // bits of a reservation's id for its place

bool before(const Holding& holding, NodeId node) {
  return holding.node < node;
}

bool nothing(const Resources& amount) {
  return amount == Resources{};
}

// Exact: what was added is taken out again bit by bit, so nothing saturates here.
void plus(Resources& sum, const Resources& part, std::int64_t sign) {
  sum.cpu += sign * part.cpu;
  sum.memory += sign * part.memory;
  sum.slots += sign * part.slots;
}

bool within(const Resources& part, const Resources& whole) {
  return part.cpu <= whole.cpu && part.memory <= whole.memory && part.slots <= whole.slots;
}

}  // namespace

void Ledger::Sum::add(std::int64_t amount, std::int64_t times) {
  if (amount >= kUnbounded) {
    unbounded += times;
  } else {
    bounded += times * amount;
  }
}

Ledger::PlaceEntry& Ledger::entry(PlaceId id) {
  CHECK(index_of(id) < places_.size() && places_[index_of(id)].present);
  return places_[index_of(id)];
}

const Ledger::PlaceEntry& Ledger::entry(PlaceId id) const {
  CHECK(index_of(id) < places_.size() && places_[index_of(id)].present);
  return places_[index_of(id)];
}

Ledger::NodeEntry& Ledger::entry(NodeId id) {
  CHECK(index_of(id) < nodes_.size() && nodes_[index_of(id)].present);
  return nodes_[index_of(id)];
}

const Ledger::NodeEntry& Ledger::entry(NodeId id) const {
  CHECK(index_of(id) < nodes_.size() && nodes_[index_of(id)].present);
  return nodes_[index_of(id)];
}

PlaceId Ledger::add_place(Place place) {
  std::size_t at = 0;
  while (at < places_.size() && places_[at].present) ++at;
  if (at == places_.size()) places_.emplace_back();
  places_[at] = PlaceEntry{.place = std::move(place), .present = true};
  const auto id = PlaceId{static_cast<std::uint32_t>(at)};
  place_ids_.insert(std::lower_bound(place_ids_.begin(), place_ids_.end(), id), id);
  ++places_version_;
  return id;
}

void Ledger::update_place(PlaceId id, Place place) {
  entry(id).place = std::move(place);
  ++places_version_;
}

void Ledger::remove_place(PlaceId id) {
  CHECK(entry(id).index.nodes().empty());
  entry(id) = PlaceEntry{};
  place_ids_.erase(std::lower_bound(place_ids_.begin(), place_ids_.end(), id));
  ++places_version_;
}

const Place& Ledger::place(PlaceId id) const {
  return entry(id).place;
}

std::optional<PlaceId> Ledger::find_place(std::string_view name) const {
  for (const PlaceId id : place_ids_) {
    if (place(id).name == name) return id;
  }
  return std::nullopt;
}

// Adds a node to the totals of its place, or takes it out: only ready ones are in them.
void Ledger::count_node(const NodeEntry& node, std::int64_t times) {
  if (node.node.state != NodeState::ready) return;
  PlaceEntry& place = entry(node.node.place);
  place.cpu.add(node.node.capacity.cpu, times);
  place.memory.add(node.node.capacity.memory, times);
  place.slots.add(node.node.capacity.slots, times);
  plus(place.used, node.used, times);
  plus(place.reserved, node.reserved, times);
  place.ready += static_cast<std::int32_t>(times);
}

void Ledger::free_changed(NodeEntry& node) {
  entry(node.node.place)
      .index.update(node.position, node.node.capacity - node.used - node.reserved,
                    node.node.takes());
}

NodeId Ledger::add_node(Node node) {
  std::size_t at = nodes_.size();
  if (spare_nodes_.empty()) {
    nodes_.emplace_back();
  } else {
    at = index_of(spare_nodes_.back());
    spare_nodes_.pop_back();
  }
  const auto id = NodeId{static_cast<std::uint32_t>(at)};
  const std::size_t position = entry(node.place).index.add(id, node.capacity);
  nodes_[at] = NodeEntry{.node = std::move(node), .present = true, .position = position};
  count_node(nodes_[at], 1);
  free_changed(nodes_[at]);
  return id;
}

void Ledger::update_node(NodeId id, Node node) {
  NodeEntry& known = entry(id);
  CHECK(known.node.place == node.place);
  count_node(known, -1);
  known.node = std::move(node);
  count_node(known, 1);
  free_changed(known);
}

void Ledger::remove_node(NodeId id) {
  for (ReservationEntry& each : reservations_) {
    if (each.present && each.reservation.node == id) (void)release(each.reservation.id);
  }
  for (std::size_t at = 0; at < holdings_.size(); ++at) {
    const auto service = ServiceId{static_cast<std::uint32_t>(at)};
    if (const Holding* held = find_holding(id, service)) give_back(id, service, held->used);
  }
  NodeEntry& known = entry(id);
  count_node(known, -1);
  entry(known.node.place).index.remove(known.position);
  known = NodeEntry{};
  spare_nodes_.push_back(id);
}

const Node& Ledger::node(NodeId id) const {
  return entry(id).node;
}

std::span<const NodeId> Ledger::nodes(PlaceId id) const {
  return entry(id).index.nodes();
}

const NodeIndex& Ledger::index(PlaceId id) const {
  return entry(id).index;
}

const Holding* Ledger::find_holding(NodeId node, ServiceId service) const {
  if (index_of(service) >= holdings_.size()) return nullptr;
  const auto& all = holdings_[index_of(service)];
  const auto at = std::lower_bound(all.begin(), all.end(), node, before);
  return at == all.end() || at->node != node ? nullptr : &*at;
}

void Ledger::list_service(PlaceEntry& place, ServiceId service) {
  const auto at = std::lower_bound(place.services.begin(), place.services.end(), service);
  if (at == place.services.end() || *at != service) place.services.insert(at, service);
}

// Unless it has replicas on another node of the place.
void Ledger::unlist_service(PlaceEntry& place, PlaceId id, ServiceId service) {
  const auto& all = holdings_[index_of(service)];
  const bool elsewhere = std::any_of(all.begin(), all.end(), [&](const Holding& held) {
    return !nothing(held.used) && entry(held.node).node.place == id;
  });
  if (elsewhere) return;
  const auto at = std::lower_bound(place.services.begin(), place.services.end(), service);
  CHECK(at != place.services.end() && *at == service);
  place.services.erase(at);
}

void Ledger::add(NodeId node, ServiceId service, Resources room, Kind kind) {
  if (nothing(room)) return;
  CHECK(within({}, room));
  if (index_of(service) >= holdings_.size()) holdings_.resize(index_of(service) + 1);
  auto& all = holdings_[index_of(service)];
  auto held = std::lower_bound(all.begin(), all.end(), node, before);
  if (held == all.end() || held->node != node) held = all.insert(held, Holding{.node = node});
  NodeEntry& known = entry(node);
  PlaceEntry& place = entry(known.node.place);
  const bool counted = known.node.state == NodeState::ready;
  if (kind == Kind::used) {
    if (nothing(held->used)) list_service(place, service);
    plus(held->used, room, 1);
    plus(known.used, room, 1);
    if (counted) plus(place.used, room, 1);
  } else {
    plus(held->reserved, room, 1);
    plus(known.reserved, room, 1);
    if (counted) plus(place.reserved, room, 1);
  }
  free_changed(known);
}

void Ledger::remove(NodeId node, ServiceId service, Resources room, Kind kind) {
  if (nothing(room)) return;
  CHECK(find_holding(node, service) != nullptr);
  auto& all = holdings_[index_of(service)];
  const auto held = std::lower_bound(all.begin(), all.end(), node, before);
  NodeEntry& known = entry(node);
  PlaceEntry& place = entry(known.node.place);
  const bool counted = known.node.state == NodeState::ready;
  CHECK(within(room, kind == Kind::used ? held->used : held->reserved));
  if (kind == Kind::used) {
    plus(held->used, room, -1);
    plus(known.used, room, -1);
    if (counted) plus(place.used, room, -1);
    if (nothing(held->used)) unlist_service(place, known.node.place, service);
  } else {
    plus(held->reserved, room, -1);
    plus(known.reserved, room, -1);
    if (counted) plus(place.reserved, room, -1);
  }
  if (nothing(held->used) && nothing(held->reserved)) all.erase(held);
  free_changed(known);
}

void Ledger::take(NodeId node, ServiceId service, const Resources& room) {
  add(node, service, room, Kind::used);
}

void Ledger::give_back(NodeId node, ServiceId service, const Resources& room) {
  remove(node, service, room, Kind::used);
}

ReservationId Ledger::reserve(Reservation wanted) {
  if (spare_reservations_.empty()) {
    spare_reservations_.push_back(static_cast<std::uint32_t>(reservations_.size()));
    reservations_.emplace_back();
  }
  const std::uint32_t at = spare_reservations_.back();
  spare_reservations_.pop_back();
  ReservationEntry& known = reservations_[at];
  ++known.uses;
  known.present = true;
  wanted.id = ReservationId{(std::uint64_t{known.uses} << kHalf) | at};
  known.reservation = wanted;
  first_expiry_ = std::min(first_expiry_, wanted.expires);
  add(wanted.node, wanted.service, wanted.room, Kind::reserved);
  return wanted.id;
}

Ledger::ReservationEntry* Ledger::live(ReservationId id) {
  const auto at = static_cast<std::size_t>(static_cast<std::uint32_t>(index_of(id)));
  if (at >= reservations_.size()) return nullptr;
  ReservationEntry& known = reservations_[at];
  return known.present && known.reservation.id == id ? &known : nullptr;
}

bool Ledger::release(ReservationId id) {
  ReservationEntry* const known = live(id);
  if (known == nullptr) return false;
  known->present = false;
  spare_reservations_.push_back(static_cast<std::uint32_t>(index_of(id)));
  const Reservation& ended = known->reservation;
  remove(ended.node, ended.service, ended.room, Kind::reserved);
  return true;
}

std::vector<Reservation> Ledger::expire(TimePoint now) {
  std::vector<Reservation> ended;
  if (now < first_expiry_) return ended;
  first_expiry_ = TimePoint::max();
  for (const ReservationEntry& each : reservations_) {
    if (!each.present) continue;
    if (each.reservation.expires <= now) {
      ended.push_back(each.reservation);
    } else {
      first_expiry_ = std::min(first_expiry_, each.reservation.expires);
    }
  }
  std::sort(ended.begin(), ended.end(), [](const Reservation& left, const Reservation& right) {
    return std::pair{left.expires, left.id} < std::pair{right.expires, right.id};
  });
  for (const Reservation& each : ended) (void)release(each.id);
  return ended;
}

const Reservation* Ledger::find(ReservationId id) const {
  const auto at = static_cast<std::size_t>(static_cast<std::uint32_t>(index_of(id)));
  if (at >= reservations_.size()) return nullptr;
  const ReservationEntry& known = reservations_[at];
  return known.present && known.reservation.id == id ? &known.reservation : nullptr;
}

std::optional<TimePoint> Ledger::next_expiry() const {
  std::optional<TimePoint> first;
  for (const ReservationEntry& each : reservations_) {
    if (each.present && (!first || each.reservation.expires < *first)) {
      first = each.reservation.expires;
    }
  }
  return first;
}

Resources Ledger::free(NodeId id) const {
  const NodeEntry& known = entry(id);
  return known.node.capacity - known.used - known.reserved;
}

Resources Ledger::largest_hole(PlaceId id) const {
  const Totals all = totals(id);
  std::optional<std::pair<Ppm, Resources>> largest;
  for (const NodeId each : nodes(id)) {
    if (node(each).state != NodeState::ready) continue;
    const Resources hole = free(each);
    const Ppm share = dominant_share(hole, all.capacity);
    if (!largest || share > largest->first) largest = {share, hole};
  }
  return largest ? largest->second : Resources{};
}

Totals Ledger::totals(PlaceId id) const {
  const PlaceEntry& known = entry(id);
  return {.capacity = {known.cpu.value(), known.memory.value(), known.slots.value()},
          .used = known.used,
          .reserved = known.reserved,
          .nodes = known.ready};
}

bool Ledger::could_hold(PlaceId id, const Resources& need) const {
  const auto all = nodes(id);
  return all.empty() || std::any_of(all.begin(), all.end(), [&](NodeId each) {
           const Node& known = node(each);
           return known.state != NodeState::gone && fits(need, known.capacity);
         });
}

std::int64_t Ledger::count(NodeId node, ServiceId service) const {
  const Holding* const held = find_holding(node, service);
  return held == nullptr ? 0 : held->used.slots + held->reserved.slots;
}

std::span<const Holding> Ledger::holdings(ServiceId service) const {
  if (index_of(service) >= holdings_.size()) return {};
  return holdings_[index_of(service)];
}

Resources Ledger::used(PlaceId place, ServiceId service) const {
  Resources sum;
  for (const Holding& held : holdings(service)) {
    if (node(held.node).place == place) sum += held.used;
  }
  return sum;
}

std::span<const ServiceId> Ledger::services(PlaceId place) const {
  return entry(place).services;
}

std::string Ledger::problem() const {
  std::vector<Resources> used(nodes_.size());
  std::vector<Resources> reserved(nodes_.size());
  for (std::size_t at = 0; at < holdings_.size(); ++at) {
    for (const Holding& held : holdings_[at]) {
      if (!within({}, held.used) || !within({}, held.reserved)) return "less than nothing is held";
      plus(used[index_of(held.node)], held.used, 1);
      plus(reserved[index_of(held.node)], held.reserved, 1);
      const auto& listed = entry(node(held.node).place).services;
      const auto service = ServiceId{static_cast<std::uint32_t>(at)};
      if (!nothing(held.used) && !std::binary_search(listed.begin(), listed.end(), service)) {
        return "a service is missing from the list of its place";
      }
    }
  }
  std::vector<Resources> kept(nodes_.size());
  for (const ReservationEntry& each : reservations_) {
    if (each.present) plus(kept[index_of(each.reservation.node)], each.reservation.room, 1);
  }
  for (std::size_t at = 0; at < nodes_.size(); ++at) {
    if (!nodes_[at].present) continue;
    if (used[at] != nodes_[at].used) return nodes_[at].node.name + ": used differs";
    if (reserved[at] != nodes_[at].reserved) return nodes_[at].node.name + ": reserved differs";
    if (kept[at] != nodes_[at].reserved) return nodes_[at].node.name + ": room without an owner";
  }
  for (const PlaceId id : place_ids_) {
    Totals sum;
    for (const NodeId each : nodes(id)) {
      if (node(each).state != NodeState::ready) continue;
      sum.capacity += node(each).capacity;
      sum.used += entry(each).used;
      sum.reserved += entry(each).reserved;
    }
    const Totals known = totals(id);
    if (sum.capacity != known.capacity || sum.used != known.used ||
        sum.reserved != known.reserved) {
      return place(id).name + ": totals differ";
    }
  }
  return "";
}

void Trial::take(NodeId node, ServiceId service, const Resources& room) {
  ledger_.take(node, service, room);
  changes_.push_back({node, service, room, true});
}

void Trial::give_back(NodeId node, ServiceId service, const Resources& room) {
  changes_.push_back({node, service, room, false});
  ledger_.give_back(node, service, room);
}

void Trial::back_to(Mark mark) {
  while (changes_.size() > mark) {
    const Change last = changes_.back();
    changes_.pop_back();
    if (last.taken) {
      ledger_.give_back(last.node, last.service, last.room);
    } else {
      ledger_.take(last.node, last.service, last.room);
    }
  }
}

}  // namespace sluice::placement
