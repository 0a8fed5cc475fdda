// What decides over the moves, and what it would choose.

#include "autoscaler/placement/io/mover.h"

#include <algorithm>
#include <optional>

namespace sluice::autoscaler {

void Mover::set_rules(const placement::Rules& rules) {
  rules_ = rules;
  moves_.set_limits(rules.moves);
  on_shortage();  // who waits may get room by them
}

std::vector<placement::PlaceRanking> Mover::rank(const placement::MigrationPolicy& policy,
                                                 const placement::Rules& rules) {
  using placement::MoveCause;
  begin_cycle();
  std::optional<Duration> age;
  if (policy.is_for(MoveCause::full) || policy.is_for(MoveCause::home)) {
    age = rules.plan.minimum_age;
  }
  const placement::Ledger& ledger = parts_.placement.ledger();
  std::vector<placement::PlaceRanking> rankings;
  for (const placement::PlaceId place : ledger.places()) {
    rankings.push_back(
        rank_place(ledger, *this, parameters_, policy, place, age, parts_.clock.now()));
  }
  return rankings;
}

bool Mover::let_go(const std::string& place) {
  const auto id = parts_.placement.ledger().find_place(place);
  if (!id) return false;
  const auto drain = drains_.find(*id);
  const placement::Totals totals = parts_.placement.ledger().totals(*id);
  const bool empty = totals.used == placement::Resources{} &&
                     totals.reserved == placement::Resources{} && moves_.leaving(*id) == 0;
  if (drain == drains_.end() || !drain->second.over || !empty) return false;
  const auto records = moves_.records();
  if (std::any_of(records.begin(), records.end(),
                  [&place](const auto& each) { return !each.ended && each.to == place; })) {
    return false;
  }
  drains_.erase(drain);
  return true;
}

std::string Mover::service_name(placement::ServiceId service) const {
  const Revision* const revision = revision_of(service);
  return revision == nullptr ? std::string{} : revision->facts().service;
}

}  // namespace sluice::autoscaler
