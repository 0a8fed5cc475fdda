#include "autoscaler/placement/core/home.h"

#include <algorithm>
#include <array>
#include <utility>

namespace sluice::placement {
namespace {

// A service that has replicas in a place that it likes less than another.
struct Away {
  ServiceId service{};
  const ServiceFacts* facts = nullptr;
  PlaceId from{};
  std::uint32_t tier = 0;  // of that place
  PlaceId to{};            // the most liked place with room
  std::uint32_t distance = 0;
};

// The less liked of its places that it may use; none: it is at home, or has no replicas.
std::optional<PlaceOrder::Entry> worst_place(const Ledger& ledger, ServiceId service,
                                             const PlaceOrder& order) {
  std::optional<PlaceOrder::Entry> worst;
  for (const Holding& held : ledger.holdings(service)) {
    if (held.used == Resources{}) continue;
    const PlaceId place = ledger.node(held.node).place;
    const auto tier = order.tier_of(place);
    if (tier && *tier > 0 && (!worst || *tier > worst->tier)) worst = {place, *tier};
  }
  return worst;
}

// A tenth more, so that the service does not fill the place to the brim; replicas come whole.
Resources with_margin(const Resources& need) {
  constexpr std::int64_t kTenths = 10;
  return {need.cpu + need.cpu / kTenths, need.memory + need.memory / kTenths, need.slots};
}

bool has_room(Trial& trial, const Away& away, PlaceId place, const Gate& gate) {
  const Trial::Mark mark = trial.mark();
  PlannedMove move = lift(trial, away.service, *away.facts, away.from);
  move.need = with_margin(move.need);
  std::int32_t trials = 0;
  const bool room =
      settle_in(trial, move, place, {.facts = *away.facts, .gate = gate, .trials = trials});
  trial.back_to(mark);
  return room;
}

std::optional<Away> find_away(Ledger& ledger, const ServiceBook& book, ServiceId service,
                              const PlanLimits& limits, TimePoint now, const Gate& gate) {
  const ServiceFacts* const facts = book.find(service);
  if (facts == nullptr || facts->order == nullptr || !facts->movable || facts->moving) return {};
  if (movable_from(*facts, limits.minimum_age) > now) return {};
  const auto worst = worst_place(ledger, service, *facts->order);
  if (!worst) return {};
  Away away{.service = service, .facts = facts, .from = worst->place, .tier = worst->tier};
  Trial trial{ledger};
  for (const PlaceOrder::Entry& entry : facts->order->entries()) {
    if (entry.tier >= away.tier) break;
    if (ledger.place(entry.place).state != PlaceState::ready) continue;
    if (!has_room(trial, away, entry.place, gate)) continue;
    away.to = entry.place;
    away.distance = away.tier - entry.tier;
    return away;
  }
  return {};
}

}  // namespace

std::vector<PlannedMove> HomeWatch::look(Ledger& ledger, const ServiceBook& book,
                                         Parameters& parameters,
                                         std::span<const ServiceId> services,
                                         const HomeLimits& home, const PlanLimits& limits,
                                         TimePoint now, const Gate& gate) {
  std::vector<Away> ready;
  for (const ServiceId service : services) {
    const auto away = find_away(ledger, book, service, limits, now, gate);
    const auto known = waiting_.find(service);
    if (known != waiting_.end() && (!away || known->second.place != away->to)) {
      if (now - known->second.since < home.hold) ++suppressed_;
      waiting_.erase(known);
    }
    if (!away) continue;
    const Waiting& waiting = waiting_.try_emplace(service, Waiting{away->to, now}).first->second;
    if (now - waiting.since >= home.hold) ready.push_back(*away);
  }
  std::stable_sort(ready.begin(), ready.end(), [](const Away& left, const Away& right) {
    return left.distance > right.distance;
  });
  std::vector<PlannedMove> moves;
  Trial trial{ledger};
  for (const Away& away : ready) {
    const auto last = last_.find(away.to);
    if (last != last_.end() && now - last->second < home.spacing) continue;
    // A tier nearer for one service of all that are there.
    const auto all = ledger.services(away.from);
    const Ppm gain = kWhole * away.distance / std::max<Ppm>(1, static_cast<Ppm>(all.size()));
    const std::array moved{away.service};
    if (!worth(gain, Urgency::normal, cost_of(parameters, moved, all), limits.worth_divisor))
      continue;
    const Trial::Mark mark = trial.mark();
    PlannedMove move = lift(trial, away.service, *away.facts, away.from);
    std::int32_t trials = 0;
    const Settling settling{.facts = *away.facts, .gate = gate, .trials = trials};
    if (!settle_in(trial, move, away.to, settling)) {
      trial.back_to(mark);
      continue;
    }
    moves.push_back(std::move(move));
    last_[away.to] = now;
    waiting_.erase(away.service);
  }
  return moves;
}

std::optional<TimePoint> HomeWatch::due(ServiceId service, const HomeLimits& home) const {
  const auto known = waiting_.find(service);
  if (known == waiting_.end()) return std::nullopt;
  return known->second.since + home.hold;
}

}  // namespace sluice::placement
