// What the mover says of services that are not where they would like to be.

#include "autoscaler/placement/io/mover.h"

#include <optional>
#include <string>
#include <vector>

namespace sluice::autoscaler {

using placement::MoveCause;
using placement::MoveId;
using placement::PlaceId;

placement::LikedPlace Mover::why_elsewhere(const RevisionId& revision, const std::string& place) {
  const auto known = parts_.placement.find(revision);
  const auto in = parts_.placement.ledger().find_place(place);
  const auto tier = known && in ? known->order->tier_of(*in) : std::nullopt;
  if (!tier || *tier == 0) return {};
  begin_cycle();
  const TimePoint now = parts_.clock.now();
  const placement::PlaceOrder above = known->order->above(*tier);
  placement::Demand demand{.service = known->id,
                           .need = known->each,
                           .order = &above,
                           .max_per_node = known->wish->max_per_node};
  placement::Planner planner{parts_.placement.ledger(), *this, parameters_};
  const auto outcome = planner.plan({.demand = demand, .starts_max = starts_left()},
                                    policy_for(rules_.policies, MoveCause::full), rules_.plan, now);
  std::vector<placement::Barred> barred;
  for (const placement::PlaceOrder::Entry& each : above.entries()) {
    const auto until = moves_.cooling_until(known->id, each.place, now);
    if (until) barred.push_back({.place = each.place, .until = *until});
  }
  demand.order = known->order;
  return placement::explain_liked(parts_.placement.ledger(), *this,
                                  {.demand = demand,
                                   .in = in,
                                   .outcome = &outcome,
                                   .limits = rules_.plan,
                                   .home = rules_.home,
                                   .due = home_.due(known->id, rules_.home),
                                   .barred = barred},
                                  now);
}

std::optional<Mover::Waits> Mover::why_it_waits(const RevisionId& revision) {
  const auto found = parts_.fleet.revisions().find(revision);
  const auto known = parts_.placement.find(revision);
  if (!known || found == parts_.fleet.revisions().end()) return std::nullopt;
  const placement::Missing* const missing = found->second->missing();
  if (missing == nullptr) return std::nullopt;
  Waits waits{.why = room_made_for(revision)};
  if (!placement::moves_may_help(missing->reason)) return waits;
  const placement::Ledger& ledger = parts_.placement.ledger();
  if (!is_one_place()) look_for_room(*found->second, *known, waits);
  const bool has_room = placement::choose(ledger, {.service = known->id,
                                                   .need = known->each,
                                                   .order = known->order,
                                                   .max_per_node = known->wish->max_per_node})
                            .node.has_value();
  // Then `max-replicas` is reached, by what runs in any place.
  if (is_one_place() || has_room) {
    const auto all = ledger.places();
    waits.next.places.assign(all.begin(), all.end());
  }
  return waits;
}

void Mover::look_for_room(const Revision& revision, const placement::Placement::Service& known,
                          Waits& waits) {
  begin_cycle();
  const TimePoint now = parts_.clock.now();
  const placement::Ledger& ledger = parts_.placement.ledger();
  const auto outcome = outcome_for(revision, known);
  if (waits.why.empty()) {
    waits.why =
        placement::plan_words(ledger, *this, outcome, rules_.plan, placement::Asker::waits, now);
  }
  waits.next = placement::next_look(ledger,
                                    {.service = known.id,
                                     .need = known.each,
                                     .order = known.order,
                                     .max_per_node = known.wish->max_per_node},
                                    outcome, now);
}

// A place that a move has failed for is no destination for a while.
std::string Mover::barred_words(placement::ServiceId service) const {
  const auto known = parts_.placement.find(service);
  if (!known) return {};
  const TimePoint now = parts_.clock.now();
  for (const placement::PlaceOrder::Entry& each : known->order->entries()) {
    const std::string& name = parts_.placement.ledger().place(each.place).name;
    const std::string pause = moves_.pause_words(service, each.place, name, now);
    if (!pause.empty()) return "it " + pause;
  }
  return {};
}

std::string Mover::room_made_for(const RevisionId& revision) const {
  if (demands_.empty()) return {};
  const auto known = parts_.placement.find(revision);
  if (!known || !demands_.contains(known->id)) return {};
  std::vector<placement::MoveRecord> moves;
  for (const MoveId id : moves_.running()) {
    if (moves_.wish(id).spec.held_for == known->id) moves.push_back(moves_.move(id).record());
  }
  return moves.empty() ? "other services wait for their move, which makes room"
                       : placement::room_words(moves);
}

}  // namespace sluice::autoscaler
