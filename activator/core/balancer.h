#pragma once

#include "activator/core/pod_roster.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace sluice::activator {

/// How a pod is chosen among those with room (activator.md 5.4, 14.2), in the order of their names.
enum class BalancingPolicy {
  first_available,  ///< the first in order: later pods stay idle at low load
  round_robin,      ///< the next in order after the last one chosen
  random_choice_2,  ///< the less loaded of two random ones
  least_in_flight,  ///< the least loaded, ties take turns; above 64 pods the better of two
};

/// The policy called `name` in the annotation sluice.dev/load-balancing: `first-available`,
/// `round-robin`, `random-choice-2` or `least-in-flight`. Nothing for any other name.
[[nodiscard]] std::optional<BalancingPolicy> parse_policy(std::string_view name);

/// The policy of a revision that names none (activator.md 14.2). With a limit of one to three,
/// filling pods in order leaves whole pods free for what comes; otherwise load is spread.
[[nodiscard]] BalancingPolicy default_policy(std::int32_t container_concurrency);

/// Chooses pods. The roster has those with room; of its own it remembers where the turn is, as a
/// rank in the order of names (activator.md 5.4), and the state of its random numbers, so equal
/// seeds and inputs choose alike.
class Balancer {
 public:
  Balancer(BalancingPolicy policy, std::uint64_t seed) : policy_(policy), random_(seed) {}

  /// What pick() returns when no pod may take a request. (An optional would be put together in
  /// memory and read back as one word, for which the processor waits longer than for the choice.)
  static constexpr std::uint32_t kNone = Ticket::kNone;

  /// The slot of the pod to take the next request, one that may; kNone only when there is none,
  /// whatever the policy. Costs tens of nanoseconds among ten thousand pods and allocates nothing.
  [[nodiscard]] std::uint32_t pick(PodRoster& roster);

  /// Whether it may choose at random, for the roster.
  [[nodiscard]] bool draws() const {
    return policy_ == BalancingPolicy::random_choice_2 ||
           policy_ == BalancingPolicy::least_in_flight;
  }

  [[nodiscard]] BalancingPolicy policy() const { return policy_; }

 private:
  [[nodiscard]] std::uint32_t next_in_turn(PodLine& line);
  [[nodiscard]] std::uint32_t least_loaded(PodLine& line);
  [[nodiscard]] std::uint32_t better_of_two(const PodRoster& roster);
  [[nodiscard]] std::uint64_t random_bits();

  BalancingPolicy policy_;
  std::size_t turn_ = 0;
  std::uint64_t random_;
};

}  // namespace sluice::activator
