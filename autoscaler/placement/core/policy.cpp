#include "autoscaler/placement/core/policy.h"

#include "autoscaler/placement/core/algorithms.h"
#include "common/values/closest_name.h"

#include <algorithm>
#include <utility>

namespace sluice::placement {
namespace {

constexpr std::size_t kQuotedMax = 80;

Problem unknown_algorithm(const std::string& policy, const std::string& name) {
  std::vector<std::string> known;
  std::string list;
  for (const Algorithm& each : algorithms()) {
    known.emplace_back(each.name);
    list += (list.empty() ? "" : ", ") + known.back();
  }
  const auto meant = closest_name(name, known);
  return {"policy `" + policy + "`: unknown algorithm `" + name.substr(0, kQuotedMax) + "`",
          (meant ? "did you mean `" + *meant + "`? " : std::string{}) + "there are " + list};
}

std::optional<Problem> problem_of(const std::string& policy, const AlgorithmRef& given) {
  const std::string about = "policy `" + policy + "`: ";
  if (find_algorithm(given.name) == nullptr) return unknown_algorithm(policy, given.name);
  if (given.weight < 0 || given.weight > kWeightMax) {
    return Problem{about + "weight " + std::to_string(given.weight) + " of `" + given.name +
                       "` is out of range",
                   "write a whole number from 0 to " + std::to_string(kWeightMax)};
  }
  if (given.quantum < 1 || given.quantum > kRateMax) {
    return Problem{about + "quantum " + std::to_string(given.quantum) + " of `" + given.name +
                       "` is out of range",
                   "write parts per million from 1 to " + std::to_string(kRateMax)};
  }
  return std::nullopt;
}

}  // namespace

MigrationPolicy default_policy() {
  return {.name = "default", .algorithms = {{.name = "in-flight"}}};
}

bool MigrationPolicy::is_for(MoveCause cause) const {
  return std::find(triggers.begin(), triggers.end(), cause) != triggers.end();
}

MigrationPolicy policy_for(std::span<const MigrationPolicy> policies, MoveCause cause) {
  const auto found =
      std::find_if(policies.begin(), policies.end(),
                   [cause](const MigrationPolicy& each) { return each.is_for(cause); });
  return found == policies.end() ? default_policy() : *found;
}

std::string_view name(Direction direction) {
  return direction == Direction::low_first ? "low-first" : "high-first";
}

std::string_view name(MigrationPolicy::Mode mode) {
  return mode == MigrationPolicy::Mode::order ? "order" : "scoring";
}

std::string_view name(MigrationPolicy::Select select) {
  return select == MigrationPolicy::Select::fewest ? "fewest" : "policy-first";
}

std::vector<WrongPolicy> check(const MigrationPolicy& policy) {
  std::vector<WrongPolicy> wrong;
  if (policy.name.empty()) wrong.push_back({.problem = {"a policy has no name", "give it one"}});
  if (policy.algorithms.size() > kAlgorithmsMax) {
    wrong.push_back({.problem = {"policy `" + policy.name + "` has " +
                                     std::to_string(policy.algorithms.size()) + " algorithms",
                                 "name at most " + std::to_string(kAlgorithmsMax)}});
  }
  for (std::size_t at = 0; at < policy.algorithms.size(); ++at) {
    if (auto problem = problem_of(policy.name, policy.algorithms[at])) {
      wrong.push_back({.problem = std::move(*problem), .algorithm = at});
    }
  }
  const bool weighs = std::any_of(policy.algorithms.begin(), policy.algorithms.end(),
                                  [](const AlgorithmRef& each) { return each.weight > 0; });
  if (policy.mode == MigrationPolicy::Mode::scoring && !weighs) {
    wrong.push_back(
        {.problem = {"policy `" + policy.name + "` scores, and no algorithm has a weight above 0",
                     "give one a weight, or write `mode: order`"}});
  }
  return wrong;
}

}  // namespace sluice::placement
