#include "autoscaler/placement/core/evacuation.h"

#include <algorithm>

namespace sluice::placement {

bool may_go_elsewhere(const ServiceFacts& facts, PlaceId place) {
  const auto entries = facts.order->entries();
  return std::any_of(entries.begin(), entries.end(),
                     [place](const PlaceOrder::Entry& entry) { return entry.place != place; });
}

std::string_view name(Stays reason) {
  switch (reason) {
    case Stays::pinned:
      return "pinned";
    case Stays::no_match:
      return "no_match";
    case Stays::no_room:
      return "no_room";
    case Stays::no_starts:
      return "no_starts";
  }
  return "no_room";
}

Evacuation evacuate(Ledger& ledger, const ServiceBook& book, Parameters& parameters,
                    const MigrationPolicy& policy, PlaceId place, const EvacuationLimits& limits,
                    const Gate& gate) {
  Evacuation result;
  const auto there = ledger.services(place);
  std::vector<ServiceId> services{there.begin(), there.end()};
  (void)sort_by_policy(services, policy, book, parameters);
  Trial trial{ledger};
  std::int64_t replicas = 0;
  std::int32_t trials = 0;
  for (const ServiceId service : services) {
    const ServiceFacts* const facts = book.find(service);
    if (facts == nullptr || facts->order == nullptr || !facts->movable) {
      result.remaining.push_back({service, Stays::pinned});
      continue;
    }
    if (facts->moving) {
      ++result.moving;
      continue;
    }
    if (!may_go_elsewhere(*facts, place)) {
      result.remaining.push_back({service, Stays::no_match});
      continue;
    }
    const std::int64_t count = ledger.used(place, service).slots;
    if (replicas + count > limits.starts_max) {
      result.remaining.push_back({service, Stays::no_starts});
      continue;
    }
    if (!result.moves.empty() && replicas + count > limits.replicas_max) {
      result.more = true;
      continue;
    }
    const Trial::Mark mark = trial.mark();
    PlannedMove move = lift(trial, service, *facts, place);
    if (!settle(trial, move, {.facts = *facts, .gate = gate, .trials = trials})) {
      trial.back_to(mark);
      result.remaining.push_back({service, Stays::no_room});
      continue;
    }
    replicas += count;
    result.moves.push_back(std::move(move));
  }
  return result;
}

std::optional<std::vector<PlannedMove>> move_to(Ledger& ledger, const ServiceBook& book,
                                                std::span<const Source> sources, PlaceId to,
                                                const Gate& gate) {
  Trial trial{ledger};
  std::vector<PlannedMove> moves;
  std::int32_t trials = 0;
  for (const Source& source : sources) {
    const ServiceFacts* const facts = book.find(source.service);
    if (facts == nullptr || source.place == to) return std::nullopt;
    PlannedMove move = lift(trial, source.service, *facts, source.place);
    const Settling settling{.facts = *facts, .gate = gate, .trials = trials};
    if (move.from_nodes.empty() || !settle_in(trial, move, to, settling)) return std::nullopt;
    moves.push_back(std::move(move));
  }
  return moves;
}

}  // namespace sluice::placement
