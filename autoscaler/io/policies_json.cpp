#include "autoscaler/io/policies_json.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

namespace sluice::autoscaler {
namespace {

using nlohmann::json;
using placement::MigrationPolicy;
using placement::MoveCause;

constexpr std::array kCauses{MoveCause::full, MoveCause::drain, MoveCause::home};

json wholes(placement::Ppm value) {
  return static_cast<double>(value) / static_cast<double>(placement::kWhole);
}

json moved_json(const placement::RankedService& ranked, const MigrationPolicy& policy,
                const Mover& mover) {
  json values = json::array();
  for (std::size_t at = 0; at < policy.algorithms.size(); ++at) {
    const auto& value = ranked.values[at];
    values.push_back(
        {{"algorithm", policy.algorithms[at].name}, {"value", value ? wholes(*value) : json{}}});
  }
  json service = {{"service", mover.service_name(ranked.service)},
                  {"move_priority", ranked.move_priority},
                  {"values", std::move(values)},
                  {"why", ranked.why}};
  if (ranked.score) service["score"] = wholes(*ranked.score);
  return service;
}

json place_json(const placement::PlaceRanking& ranking, const MigrationPolicy& policy,
                const Mover& mover, const placement::Ledger& ledger) {
  json moved = json::array();
  for (const auto& each : ranking.moved) moved.push_back(moved_json(each, policy, mover));
  json stay = json::array();
  for (const auto& each : ranking.stay) {
    stay.push_back({{"service", mover.service_name(each.service)}, {"why", each.why}});
  }
  return {{"place", ledger.place(ranking.place).name},
          {"services", std::move(moved)},
          {"stay", std::move(stay)}};
}

}  // namespace

json policies_json(const placement::Rules& rules, Mover& mover, const placement::Ledger& ledger) {
  std::vector<std::vector<MoveCause>> decides(rules.policies.size());
  MigrationPolicy left = placement::default_policy();
  left.triggers.clear();
  for (const MoveCause cause : kCauses) {
    const auto found =
        std::find_if(rules.policies.begin(), rules.policies.end(),
                     [cause](const MigrationPolicy& each) { return each.is_for(cause); });
    auto& causes = found == rules.policies.end()
                       ? left.triggers
                       : decides[static_cast<std::size_t>(found - rules.policies.begin())];
    causes.push_back(cause);
  }
  json policies = json::array();
  const auto add = [&](const MigrationPolicy& policy, const std::vector<MoveCause>& causes) {
    json names = json::array();
    for (const MoveCause cause : causes) names.push_back(name(cause));
    json places = json::array();
    for (const placement::PlaceRanking& ranking : mover.rank(policy, rules)) {
      places.push_back(place_json(ranking, policy, mover, ledger));
    }
    policies.push_back({{"name", policy.name},
                        {"mode", name(policy.mode)},
                        {"select", name(policy.select)},
                        {"decides", std::move(names)},
                        {"places", std::move(places)}});
  };
  for (std::size_t at = 0; at < rules.policies.size(); ++at) add(rules.policies[at], decides[at]);
  if (!left.triggers.empty()) add(left, left.triggers);
  return policies;
}

}  // namespace sluice::autoscaler
