#include "activator/core/balancer.h"

#include <algorithm>
#include <array>
#include <utility>

namespace sluice::activator {

namespace {

// Above this many pods looking at each of them costs more than the better of two random ones loses
// (activator.md 14.2).
constexpr std::size_t kComparedMax = 64;

constexpr std::array<std::pair<std::string_view, BalancingPolicy>, 4> kNames{{
    {"first-available", BalancingPolicy::first_available},
    {"round-robin", BalancingPolicy::round_robin},
    {"random-choice-2", BalancingPolicy::random_choice_2},
    {"least-in-flight", BalancingPolicy::least_in_flight},
}};

}  // namespace

std::optional<BalancingPolicy> parse_policy(std::string_view name) {
  for (const auto& [known, policy] : kNames) {
    if (known == name) {
      return policy;
    }
  }
  return std::nullopt;
}

std::string_view name_of(BalancingPolicy policy) {
  for (const auto& [name, known] : kNames) {
    if (known == policy) {
      return name;
    }
  }
  return "";
}

BalancingPolicy default_policy(std::int32_t container_concurrency) {
  return container_concurrency >= 1 && container_concurrency <= 3
             ? BalancingPolicy::first_available
             : BalancingPolicy::least_in_flight;
}

struct Balancer::View {
  std::span<const PodLoad> pods;
  std::span<const std::size_t> left_out;

  [[nodiscard]] bool usable(std::size_t position) const {
    return pods[position].open &&
           std::find(left_out.begin(), left_out.end(), position) == left_out.end();
  }
};

Balancer::Balancer(BalancingPolicy policy, std::uint64_t seed) : policy_(policy), random_(seed) {}

std::optional<std::size_t> Balancer::pick(std::span<const PodLoad> pods,
                                          std::span<const std::size_t> left_out) {
  if (pods.empty()) {
    return std::nullopt;
  }
  const View view{.pods = pods, .left_out = left_out};
  if (cursor_ >= pods.size()) {
    cursor_ = 0;
  }
  switch (policy_) {
    case BalancingPolicy::first_available:
      cursor_ = 0;
      return next_in_turn(view);
    case BalancingPolicy::round_robin:
      return next_in_turn(view);
    case BalancingPolicy::random_choice_2:
      return better_of_two(view);
    case BalancingPolicy::least_in_flight:
      return pods.size() > kComparedMax ? better_of_two(view) : least_loaded(view);
  }
  return std::nullopt;
}

std::optional<std::size_t> Balancer::next_in_turn(const View& view) {
  std::size_t position = cursor_;
  for (std::size_t tries = 0; tries < view.pods.size(); ++tries) {
    if (view.usable(position)) {
      cursor_ = position + 1;
      return position;
    }
    position = position + 1 == view.pods.size() ? 0 : position + 1;
  }
  return std::nullopt;
}

std::optional<std::size_t> Balancer::better_of_two(const View& view) {
  const std::size_t count = view.pods.size();
  std::size_t first = 0;
  std::size_t second = count - 1;
  if (count > 2) {
    first = random_below(count);
    second = random_below(count - 1);
    second += second >= first ? 1U : 0U;
  }
  const bool first_usable = view.usable(first);
  const bool second_usable = view.usable(second);
  if (!first_usable && !second_usable) {
    // Both drawn are full, others may not be: nobody waits while a pod has room.
    return least_loaded(view);
  }
  if (first_usable != second_usable) {
    return first_usable ? first : second;
  }
  const std::uint32_t first_load = view.pods[first].in_flight;
  const std::uint32_t second_load = view.pods[second].in_flight;
  if (first_load == second_load) {
    return random_below(2) == 0 ? first : second;
  }
  return first_load < second_load ? first : second;
}

std::optional<std::size_t> Balancer::least_loaded(const View& view) {
  std::optional<std::size_t> best;
  std::size_t position = cursor_;
  for (std::size_t looked = 0; looked < view.pods.size(); ++looked) {
    if (view.usable(position) &&
        (!best || view.pods[position].in_flight < view.pods[*best].in_flight)) {
      best = position;
    }
    position = position + 1 == view.pods.size() ? 0 : position + 1;
  }
  if (best) {
    cursor_ = *best + 1;
  }
  return best;
}

std::size_t Balancer::random_below(std::size_t bound) {
  // SplitMix64, then the high half scaled to the bound: the bias is below bound / 2^32.
  random_ += 0x9E3779B97F4A7C15ULL;
  std::uint64_t mixed = random_;
  mixed = (mixed ^ (mixed >> 30U)) * 0xBF58476D1CE4E5B9ULL;
  mixed = (mixed ^ (mixed >> 27U)) * 0x94D049BB133111EBULL;
  mixed ^= mixed >> 31U;
  return static_cast<std::size_t>(((mixed >> 32U) * bound) >> 32U);
}

}  // namespace sluice::activator
