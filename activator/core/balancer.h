#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace sluice::activator {

/// How a pod is chosen among those with room (activator.md 5.4, 14.2). Pods come in the order of
/// their names.
enum class BalancingPolicy {
  first_available,  ///< the first in order: later pods stay idle at low load
  round_robin,      ///< the next in order after the last one chosen
  random_choice_2,  ///< the less loaded of two random ones
  least_in_flight,  ///< the least loaded; ties take turns
};

/// The policy called `name` in the annotation sluice.dev/load-balancing: `first-available`,
/// `round-robin`, `random-choice-2` or `least-in-flight`. Nothing for any other name.
[[nodiscard]] std::optional<BalancingPolicy> parse_policy(std::string_view name);

/// The name of `policy`, as parse_policy reads it.
[[nodiscard]] std::string_view name_of(BalancingPolicy policy);

/// The policy of a revision that names none (activator.md 14.2). With a limit of one to three,
/// filling pods in order leaves whole pods free for what comes; otherwise load is spread.
[[nodiscard]] BalancingPolicy default_policy(std::int32_t container_concurrency);

/// One pod as the balancer sees it.
struct PodLoad {
  std::uint32_t in_flight = 0;
  bool open = false;  ///< may take one more request now
};

/// Chooses pods. Which pods have room is told anew with each choice; of its own it remembers where
/// the turn is and the state of its random numbers, so equal seeds and inputs choose alike.
class Balancer {
 public:
  Balancer(BalancingPolicy policy, std::uint64_t seed);

  /// The position in `pods` of the one to take the next request: one that is open and not among the
  /// positions `left_out`. Nothing only when there is no such pod, whatever the policy.
  [[nodiscard]] std::optional<std::size_t> pick(std::span<const PodLoad> pods,
                                                std::span<const std::size_t> left_out);

  [[nodiscard]] BalancingPolicy policy() const { return policy_; }

 private:
  struct View;

  [[nodiscard]] std::optional<std::size_t> next_in_turn(const View& view);
  [[nodiscard]] std::optional<std::size_t> better_of_two(const View& view);
  [[nodiscard]] std::optional<std::size_t> least_loaded(const View& view);
  [[nodiscard]] std::size_t random_below(std::size_t bound);

  BalancingPolicy policy_;
  std::size_t cursor_ = 0;
  std::uint64_t random_;
};

}  // namespace sluice::activator
