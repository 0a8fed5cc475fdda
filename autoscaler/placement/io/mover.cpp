#include "autoscaler/placement/io/mover.h"

#include "autoscaler/placement/core/words.h"
#include "common/values/closest_name.h"

#include <algorithm>
#include <string_view>
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

Result<PlaceId, Problem> Mover::place_named(const std::string& name) const {
  const placement::Ledger& ledger = parts_.placement.ledger();
  if (const auto found = ledger.find_place(name)) return *found;
  std::vector<std::string> names;
  std::string list;
  for (const PlaceId id : ledger.places()) {
    names.push_back(ledger.place(id).name);
    list += (list.empty() ? "" : ", ") + names.back();
  }
  const auto meant = closest_name(name, names);
  return Problem{"there is no place " + name,
                 meant ? "did you mean " + *meant + "?" : "there are " + list};
}

Revision* Mover::revision_of(ServiceId service) const {
  const auto known = parts_.placement.find(service);
  if (!known) return nullptr;
  const auto found = parts_.fleet.revisions().find(known->revision);
  return found == parts_.fleet.revisions().end() ? nullptr : found->second.get();
}

Result<Mover::Begun, Problem> Mover::move(const RevisionId& revision, const std::string& to) {
  const auto place = place_named(to);
  if (!place) return place.error();
  const auto known = parts_.placement.find(revision);
  const auto found = parts_.fleet.revisions().find(revision);
  if (!known || found == parts_.fleet.revisions().end()) {
    return Problem{revision.name + " does not run", "see: sluice get"};
  }
  const std::string& service = found->second->facts().service;
  placement::Ledger& ledger = parts_.placement.ledger();
  if (ledger.place(*place).state == placement::PlaceState::draining) {
    return Problem{to + " is being drained", "sluice undrain " + to};
  }
  if (found->second->facts().one_at_a_time && !found->second->pods().empty()) {
    return Problem{service + " cannot be moved: it has a fixed port, so that two replicas of it " +
                       "cannot run beside each other",
                   "let it listen on $PORT, or move it while it sleeps"};
  }
  if (!known->order->tier_of(*place)) {
    return Problem{service + " may not run in " + to,
                   "change the placement.sluice.dev keys of its template"};
  }
  std::vector<PlaceId> from;
  std::int32_t there = 0;
  for (const PlaceId each : ledger.places()) {
    const std::int32_t count = parts_.placement.count(known->id, each);
    there += count;
    if (each != *place && count > 0) from.push_back(each);
  }
  if (there == 0) {
    parts_.placement.prefer(revision, *place);
    return Begun{.asleep = true};
  }
  begin_cycle();
  Begun begun;
  // Where its replicas are when the moves before have ended is seen then.
  if (moves_.pending(known->id)) {
    for (const PlaceId each : ledger.places()) {
      if (each == *place) continue;
      const auto id = moves_.add({.service = known->id,
                                  .from = each,
                                  .to = *place,
                                  .spec = spec_of(*found->second, each, *place, MoveCause::hand)},
                                 parts_.clock.now());
      if (id) begun.moves.push_back(*id);
    }
    look();
    return begun;
  }
  std::vector<placement::PlannedMove> planned;
  for (const PlaceId each : from) {
    const auto one = placement::move_to(ledger, *this, known->id, each, *place);
    if (!one) return no_room_to_move(*known, service, each, *place);
    planned.push_back(*one);
  }
  for (const placement::PlannedMove& one : planned) {
    if (const auto id = add(one, MoveCause::hand)) begun.moves.push_back(*id);
  }
  look();
  return begun;
}

Problem Mover::no_room_to_move(const placement::Placement::Service& known,
                               const std::string& service, PlaceId from, PlaceId to) const {
  const placement::Ledger& ledger = parts_.placement.ledger();
  const std::string& name = ledger.place(to).name;
  const placement::Demand demand{.service = known.id,
                                 .need = known.each,
                                 .order = known.order,
                                 .max_per_node = known.wish->max_per_node};
  const auto refusal = placement::choose_in(ledger, demand, to).refusal;
  std::string why = placement::refusal_words(ledger, refusal, {});
  if (why.empty()) {
    why = name + " has room for " +
          placement::counted(parts_.placement.room(known.id, to), "replica");
  }
  return {why + "; " + service + " has " +
              placement::counted(parts_.placement.count(known.id, from), "replica") + " to move",
          placement::refused(refusal.reason) ? "give " + name + " more in config.yaml"
                                             : "make room there first: sluice places"};
}

std::optional<Problem> Mover::drain(const std::string& place) {
  const auto found = place_named(place);
  if (!found) return found.error();
  placement::Ledger& ledger = parts_.placement.ledger();
  placement::Place changed = ledger.place(*found);
  changed.state = placement::PlaceState::draining;
  ledger.update_place(*found, std::move(changed));
  drains_[*found] = {};
  parts_.place_news(place);
  parts_.fleet.room_changed();
  look();
  return std::nullopt;
}

std::optional<Problem> Mover::undrain(const std::string& place) {
  const auto found = place_named(place);
  if (!found) return found.error();
  placement::Ledger& ledger = parts_.placement.ledger();
  placement::Place changed = ledger.place(*found);
  changed.state = placement::PlaceState::ready;
  ledger.update_place(*found, std::move(changed));
  drains_.erase(*found);
  parts_.place_news(place);
  parts_.fleet.room_changed();
  return std::nullopt;
}

const Mover::Drain* Mover::drain_of(const std::string& place) const {
  const auto id = parts_.placement.ledger().find_place(place);
  if (!id) return nullptr;
  const auto found = drains_.find(*id);
  return found == drains_.end() ? nullptr : &found->second;
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
  // How much a stream moves is not measured here: every request gets what a stream would get.
  spec.drain.drain_max = std::max(spec.drain.drain_max, facts.timeout);
  spec.drain.request_max = spec.drain.drain_max;
  return spec;
}

// Another revision of its service serves, or is to.
bool Mover::is_replaced(const Revision& revision) const {
  const auto& all = parts_.fleet.revisions();
  return std::any_of(all.begin(), all.end(), [&revision](const auto& each) {
    const model::Revision& other = each.second->facts();
    return each.second.get() != &revision && !other.retired &&
           other.service == revision.facts().service;
  });
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
    evacuate();
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
  come_home();
  for (const auto& [id, revision] : parts_.fleet.revisions()) {
    if (revision->missing() != nullptr) short_ = true;
  }
  arm();
}

std::string Mover::refusal_of(const Revision& revision,
                              const placement::PlannedMove& planned) const {
  return moves_.refusal({.service = planned.service,
                         .from = planned.from,
                         .to = planned.to,
                         .spec = spec_of(revision, planned.from, planned.to, MoveCause::drain)},
                        parts_.clock.now());
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

std::string Mover::why_it_stays(const placement::Evacuation::Remaining& one) const {
  if (one.reason == placement::Stays::pinned) {
    const Revision* const revision = revision_of(one.service);
    const bool single = revision != nullptr && revision->facts().one_at_a_time;
    return single ? "it has a fixed port, so that two replicas cannot run beside each other"
                  : "it may not be moved";
  }
  const auto known = parts_.placement.find(one.service);
  if (const std::string barred = barred_words(one.service); !barred.empty()) return barred;
  if (one.reason == placement::Stays::no_match || !known) return "no other place matches";
  std::optional<PlaceId> here;
  for (const auto& [place, drain] : drains_) {
    if (parts_.placement.count(one.service, place) > 0) here = place;
  }
  const std::string why = placement::why_no_node(parts_.placement.ledger(),
                                                 {.service = known->id,
                                                  .need = known->each,
                                                  .order = known->order,
                                                  .max_per_node = known->wish->max_per_node,
                                                  .not_in = here},
                                                 *known->wish, {});
  return why.empty() ? "no other place has room for all of it" : why;
}

void Mover::evacuate() {
  std::vector<std::string> emptied;
  for (auto& [place, drain] : drains_) {
    const std::int32_t leaving = moves_.leaving(place);
    if (drain.over || leaving >= rules_.moves.drain_batch) continue;
    const auto found = placement::evacuate(parts_.placement.ledger(), *this, parameters_,
                                           policy_for(rules_.policies, MoveCause::drain), place,
                                           rules_.moves.drain_batch - leaving);
    drain.remaining.clear();
    bool begun = false;
    for (const placement::PlannedMove& one : found.moves) {
      if (add(one, MoveCause::drain)) {
        begun = true;
      } else if (const Revision* const revision = revision_of(one.service)) {
        const std::string why = refusal_of(*revision, one);
        if (!why.empty()) drain.remaining.push_back(revision->facts().service + ": " + why);
      }
    }
    for (const auto& each : found.remaining) {
      const Revision* const revision = revision_of(each.service);
      if (revision == nullptr) continue;
      drain.remaining.push_back(revision->facts().service + ": " + why_it_stays(each));
    }
    drain.over = !begun && !found.more && found.moving == 0 && leaving == 0;
    if (drain.over) emptied.push_back(parts_.placement.ledger().place(place).name);
  }
  for (const std::string& place : emptied) parts_.place_news(place);
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
    view.changed = revision->facts().retired && is_replaced(*revision);
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
    if (wish.spec.held_for) end_demand(id, wish);
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

void Mover::end_demand(MoveId id, const placement::Moves::Wish& wish) {
  parts_.placement.promise_freed(wish.service, wish.from, std::nullopt);
  for (const MoveId other : moves_.running()) {
    if (other != id && moves_.wish(other).spec.held_for == wish.spec.held_for) return;
  }
  demands_.erase(*wish.spec.held_for);
}

void Mover::note(const placement::MoveRecord& record) {
  if (record.cause != MoveCause::drain) return;
  const auto place = parts_.placement.ledger().find_place(record.from);
  const auto found = place ? drains_.find(*place) : drains_.end();
  if (found == drains_.end()) return;
  found->second.cut += record.cut;
  if (record.end != placement::MoveEnd::done) return;
  ++found->second.services;
  found->second.replicas += record.drained;
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
