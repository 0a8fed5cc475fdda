#include "autoscaler/placement/io/mover.h"

#include <algorithm>
#include <utility>

namespace sluice::autoscaler {
namespace {

using placement::MoveCause;
using placement::MoveId;
using placement::PlaceId;
using placement::ServiceId;

/// Between two looks while a move runs or a place is drained (placement/core/move.h).
constexpr Duration kLook = std::chrono::milliseconds{50};

}  // namespace

Mover::Mover(Parts parts)
    : parts_{std::move(parts)},
      parameters_{parts_.placement.ledger(), *this},
      timer_{parts_.clock.timer()} {}

Mover::~Mover() = default;

Revision* Mover::revision_of(ServiceId service) const {
  const auto known = parts_.placement.find(service);
  if (!known) return nullptr;
  const auto found = parts_.fleet.revisions().find(known->revision);
  return found == parts_.fleet.revisions().end() ? nullptr : found->second.get();
}

void Mover::served(const RevisionId& revision, const std::string& address, bool failed, bool cut) {
  if (tallies_.empty()) return;
  const auto known = parts_.placement.find(revision);
  if (!known) return;
  const placement::Move* const move = moves_.find(known->id);
  if (move == nullptr) return;
  const auto tallies = tallies_.find(move->spec().id);
  const auto found = parts_.fleet.revisions().find(revision);
  if (tallies == tallies_.end() || found == parts_.fleet.revisions().end()) return;
  for (const Revision::PodFacts& pod : found->second->pods()) {
    if (!pod.watched.address || pod.watched.address->text() != address) continue;
    placement::Tally* const tally = pod.watched.node == move->spec().from ? &tallies->second.from
                                    : pod.watched.node == move->spec().to ? &tallies->second.to
                                                                          : nullptr;
    if (tally == nullptr) return;
    ++tally->requests;
    tally->failed += failed ? 1 : 0;
    tally->cut += cut ? 1 : 0;
    return;
  }
}

void Mover::forget(const RevisionId& revision) {
  const auto known = parts_.placement.find(revision);
  if (!known) return;
  moves_.forget(known->id);
  home_.forget(known->id);
}

void Mover::stop() {
  stopping_ = true;
  look();
}

placement::MoveSpec Mover::spec_of(const Revision& revision, PlaceId from, PlaceId to,
                                   MoveCause cause) const {
  const placement::Ledger& ledger = parts_.placement.ledger();
  const model::Revision& facts = revision.facts();
  placement::MoveSpec spec;
  spec.service = facts.service;
  spec.from = ledger.place(from).name;
  spec.to = ledger.place(to).name;
  spec.cause = cause;
  spec.usual_start = measured(revision).usual_start.value_or(Duration{0});
  spec.drain.request_max = facts.timeout;
  spec.drain.drain_max = std::max(spec.drain.drain_max, facts.timeout);
  return spec;
}

std::optional<MoveId> Mover::add(const placement::PlannedMove& planned, MoveCause cause,
                                 std::optional<ServiceId> held_for) {
  const Revision* const revision = revision_of(planned.service);
  if (revision == nullptr) return std::nullopt;
  placement::MoveSpec spec = spec_of(*revision, planned.from, planned.to, cause);
  spec.held_for = held_for;
  return moves_.add({.service = planned.service,
                     .from = planned.from,
                     .to = planned.to,
                     .replicas = static_cast<std::int32_t>(planned.to_nodes.size()),
                     .spec = std::move(spec)},
                    parts_.clock.now());
}

// One look: what may begin begins, what runs makes a step, a place that is drained gives up more,
// and room is made for who waits.
void Mover::look() {
  begin_cycle();
  // Each place of one machine is one node that is always seen.
  guard_.observe({.nodes = static_cast<std::int32_t>(parts_.placement.ledger().places().size())},
                 parts_.clock.now());
  if (!stopping_) {
    evacuate(false);
    withdraw();
    if (std::exchange(short_, false)) plan();
    (void)moves_.begin_due(parts_.clock.now(),
                           [this](placement::Moves::Wish& wish) { find_source(wish); });
  }
  for (const MoveId id : moves_.running()) step(id);
  arm();
}

void Mover::on_shortage() {
  if (is_one_place() || stopping_) return;
  short_ = true;
  arm();
}

void Mover::tick() {
  if (is_one_place() || stopping_) return;
  begin_cycle();
  evacuate(true);
  come_home();
  for (const auto& [id, revision] : parts_.fleet.revisions()) {
    if (revision->missing() != nullptr) short_ = true;
  }
  arm();
}

// Where the service has replicas to move; its destination, when it has none anywhere else.
void Mover::find_source(placement::Moves::Wish& wish) const {
  std::int32_t most = 0;
  PlaceId from = wish.to;
  for (const PlaceId each : parts_.placement.ledger().places()) {
    const std::int32_t count = parts_.placement.count(wish.service, each);
    if (each == wish.to || count <= most) continue;
    most = count;
    from = each;
  }
  // What was planned from one place stays there as long as it has any.
  if (parts_.placement.count(wish.service, wish.from) > 0 && wish.from != wish.to) return;
  wish.from = from;
  wish.spec.from = parts_.placement.ledger().place(from).name;
}

void Mover::step(MoveId id) {
  const TimePoint now = parts_.clock.now();
  const placement::Moves::Wish wish = moves_.wish(id);
  Revision* const revision = revision_of(wish.service);
  placement::MoveView view;
  if (revision == nullptr) {
    view.deleted = true;
  } else {
    view = revision->move_view(wish.spec.from, wish.spec.to);
    view.changed = is_replaced(*revision);
    view.deleted = revision->facts().retired && !view.changed;
  }
  const Tallies& tallies = tallies_[id];
  view.from.tally = tallies.from;
  view.to.tally = tallies.to;
  view.reserved = parts_.placement.reserved(id);
  view.to.most = static_cast<std::int32_t>(view.to.replicas.size()) + view.reserved +
                 parts_.placement.room(wish.service, wish.to);
  view.from.most = static_cast<std::int32_t>(view.from.replicas.size()) +
                   parts_.placement.room(wish.service, wish.from);
  if (moves_.move(id).state() == placement::MoveState::reserved && parts_.placement.spare() == 0) {
    view.no_starts =
        no_starts_words({.left = view.reserved + starts_left(), .needed = wish.replicas});
  }
  view.ending = stopping_;
  view.frozen = guard_.frozen().has_value();
  placement::MoveRecord record = moves_.move(id).record();
  const placement::MoveOrders orders = moves_.step(id, view, now);
  const placement::Move* const runs = moves_.find(wish.service);
  const bool over = runs == nullptr || runs->spec().id != id;
  parts_.placement.reserve(id, wish.service, wish.to, over ? 0 : orders.reserve, now);
  if (over) {
    tallies_.erase(id);
    // It fell asleep meanwhile: it wakes where it was to go.
    if (revision != nullptr && revision->pods().empty()) {
      parts_.placement.prefer(revision->facts().id, wish.to);
    }
    if (wish.spec.held_for) {
      parts_.placement.promise_freed(wish.service, wish.from, std::nullopt);
      if (!moves_.makes_room_for(*wish.spec.held_for)) demands_.erase(*wish.spec.held_for);
    }
    for (const placement::MoveRecord& each : moves_.records()) {
      if (each.id == id) record = each;
    }
    note(record);
  } else if (orders.news) {
    record = runs->record();
  }
  if (revision != nullptr) {
    revision->set_move(over ? std::nullopt
                            : std::optional{Revision::MoveOrder{.from = wish.spec.from,
                                                                .to = wish.spec.to,
                                                                .state = runs->state(),
                                                                .orders = orders}});
  }
  if (orders.news || over) parts_.news(record);
  // The room is kept for it: it takes it now.
  if (orders.freed > 0 && wish.spec.held_for) {
    if (Revision* const demand = revision_of(*wish.spec.held_for)) demand->on_room_changed();
  }
}

void Mover::arm() {
  const bool drains = std::any_of(drains_.begin(), drains_.end(),
                                  [](const auto& each) { return !each.second.over; });
  if (armed_ || stopping_ || (!drains && moves_.idle() && !short_)) return;
  armed_ = true;
  timer_->after(kLook, [this] {
    armed_ = false;
    look();
  });
}

}  // namespace sluice::autoscaler
