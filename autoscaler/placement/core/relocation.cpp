#include "autoscaler/placement/core/relocation.h"

#include <algorithm>

namespace sluice::placement {
namespace {

Demand demand_of(const PlannedMove& move, const Settling& settling) {
  return {.service = move.service,
          .need = move.need,
          .order = settling.facts.order,
          .max_per_node = settling.facts.max_per_node,
          .not_on = settling.off};
}

}  // namespace

TimePoint movable_from(const ServiceFacts& facts, Duration minimum_age) {
  // What takes long to start is not moved again as soon as it runs.
  constexpr int kStarts = 2;
  const Duration age = std::max(minimum_age, facts.usual_start.value_or(Duration{0}) * kStarts);
  return std::max(facts.started + age, facts.cooling_until.value_or(TimePoint::min()));
}

PlannedMove lift(Trial& trial, ServiceId service, const ServiceFacts& facts, PlaceId from,
                 std::optional<NodeId> node) {
  PlannedMove move{.service = service, .from = from, .to = from, .need = facts.need};
  const Ledger& ledger = trial.ledger();
  const auto held = ledger.holdings(service);
  const std::vector<Holding> all{held.begin(), held.end()};
  for (const Holding& each : all) {
    if (ledger.node(each.node).place != from || (node && each.node != *node)) continue;
    if (each.used == Resources{}) continue;
    const auto replicas = static_cast<std::size_t>(each.used.slots);
    move.from_nodes.insert(move.from_nodes.end(), replicas, each.node);
    trial.give_back(each.node, service, each.used);
  }
  return move;
}

std::vector<PlaceId> destinations(const Ledger& ledger, const PlannedMove& move,
                                  const Settling& settling) {
  if (settling.off) return {move.from};
  Demand demand = demand_of(move, settling);
  demand.not_in = move.from;
  ++settling.trials;
  const Choice best = choose(ledger, demand, settling.gate);
  if (!best.node) return {};
  std::vector<PlaceId> places{best.place};
  for (const PlaceOrder::Entry& entry : settling.facts.order->entries()) {
    const bool other = entry.place != best.place && entry.place != move.from;
    if (other && ledger.place(entry.place).state == PlaceState::ready) {
      places.push_back(entry.place);
    }
  }
  return places;
}

bool settle_in(Trial& trial, PlannedMove& move, PlaceId place, const Settling& settling) {
  const Demand demand = demand_of(move, settling);
  const Trial::Mark mark = trial.mark();
  move.to = place;
  move.to_nodes.clear();
  while (move.to_nodes.size() < move.from_nodes.size()) {
    ++settling.trials;
    const Choice choice = choose_in(trial.ledger(), demand, place, settling.gate);
    if (!choice.node) {
      trial.back_to(mark);
      move.to_nodes.clear();
      return false;
    }
    trial.take(*choice.node, move.service, move.need);
    move.to_nodes.push_back(*choice.node);
  }
  return true;
}

bool settle(Trial& trial, PlannedMove& move, const Settling& settling) {
  const std::vector<PlaceId> places = destinations(trial.ledger(), move, settling);
  return std::any_of(places.begin(), places.end(),
                     [&](PlaceId place) { return settle_in(trial, move, place, settling); });
}

}  // namespace sluice::placement
