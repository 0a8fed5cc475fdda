#include "autoscaler/placement/core/policy_view.h"

#include "autoscaler/placement/core/evacuation.h"
#include "autoscaler/placement/core/explain.h"

#include <algorithm>

namespace sluice::placement {
namespace {

// Why a service stays whatever the policy; empty: it may be moved.
std::string why_it_stays(const ServiceFacts* facts, PlaceId place,
                         std::optional<Duration> minimum_age, TimePoint now) {
  if (facts == nullptr || facts->order == nullptr || !facts->movable) return "may not be moved";
  if (facts->moving) return "is being moved or replaced";
  if (!may_go_elsewhere(*facts, place)) return "no other place matches";
  return minimum_age ? rest_words(*facts, *minimum_age, now) : std::string{};
}

// The algorithm that tells two services of one order apart; empty: none does.
std::string decided_by(const RankedService& before, const RankedService& after,
                       const MigrationPolicy& policy) {
  if (policy.mode == MigrationPolicy::Mode::scoring) {
    if (before.score != after.score) return "score";
    return before.move_priority != after.move_priority ? "move-priority" : "restart-cost";
  }
  if (before.move_priority != after.move_priority) return "move-priority";
  for (std::size_t at = 0; at < policy.algorithms.size(); ++at) {
    const AlgorithmRef& algorithm = policy.algorithms[at];
    const auto step = [&algorithm](std::optional<Ppm> value) {
      if (value) *value /= std::max<Ppm>(1, algorithm.quantum);
      return value;
    };
    if (step(before.values[at]) != step(after.values[at])) return algorithm.name;
  }
  return {};
}

std::string why_there(const ServiceBook& book, const RankedService* before,
                      const RankedService& ranked, const MigrationPolicy& policy) {
  if (before == nullptr) return "first";
  const std::string& name = book.find(before->service)->name;
  if (before->rank == ranked.rank) return "equal to " + name;
  return "after " + name + " by " + decided_by(*before, ranked, policy);
}

}  // namespace

PlaceRanking rank_place(const Ledger& ledger, const ServiceBook& book, Parameters& parameters,
                        const MigrationPolicy& policy, PlaceId place,
                        std::optional<Duration> minimum_age, TimePoint now) {
  PlaceRanking ranking{.place = place};
  std::vector<ServiceId> services;
  for (const ServiceId service : ledger.services(place)) {
    std::string why = why_it_stays(book.find(service), place, minimum_age, now);
    if (why.empty()) {
      services.push_back(service);
    } else {
      ranking.stay.push_back({service, std::move(why)});
    }
  }
  const std::vector<std::size_t> ranks = sort_by_policy(services, policy, book, parameters);
  const std::vector<std::int64_t> scores = scores_by_policy(services, policy, parameters);
  for (std::size_t at = 0; at < services.size(); ++at) {
    RankedService ranked{.service = services[at],
                         .rank = ranks[at],
                         .move_priority = book.find(services[at])->move_priority};
    for (const AlgorithmRef& each : policy.algorithms) {
      const Algorithm* const algorithm = find_algorithm(each.name);
      ranked.values.push_back(algorithm == nullptr ? std::nullopt
                                                   : parameters.rate(*algorithm, services[at]));
    }
    if (policy.mode == MigrationPolicy::Mode::scoring) ranked.score = scores[at];
    ranked.why = why_there(book, at == 0 ? nullptr : &ranking.moved.back(), ranked, policy);
    ranking.moved.push_back(std::move(ranked));
  }
  return ranking;
}

}  // namespace sluice::placement
