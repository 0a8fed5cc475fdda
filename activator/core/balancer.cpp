#include "activator/core/balancer.h"

#include <array>
#include <utility>

namespace sluice::activator {

namespace {

// Above this many pods the better of two random ones loses next to nothing (activator.md 14.2).
static_assert(PodLine::kBlock == 64);

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

BalancingPolicy default_policy(std::int32_t container_concurrency) {
  return container_concurrency >= 1 && container_concurrency <= 3
             ? BalancingPolicy::first_available
             : BalancingPolicy::least_in_flight;
}

std::uint32_t Balancer::pick(PodRoster& roster) {
  PodLine& line = roster.line();
  if (line.open_count() == 0) {
    return kNone;
  }
  if (turn_ >= line.size()) {
    turn_ = 0;
  }
  switch (policy_) {
    case BalancingPolicy::first_available:
      return *line.first_open();
    case BalancingPolicy::round_robin:
      return next_in_turn(line);
    case BalancingPolicy::random_choice_2:
      return better_of_two(roster);
    case BalancingPolicy::least_in_flight:
      return line.is_short() ? least_loaded(line) : better_of_two(roster);
  }
  return kNone;
}

std::uint32_t Balancer::next_in_turn(PodLine& line) {
  const PodLine::Found next = *line.open_from(turn_);
  turn_ = next.rank + 1;
  return next.slot;
}

std::uint32_t Balancer::least_loaded(PodLine& line) {
  const PodLine::Found least = *line.least_from(turn_);
  turn_ = least.rank + 1;
  return least.slot;
}

// Two different ones of those with room, each pair as likely as any other (the bias is below
// count / 2^32), and a coin for the case that they are equally loaded. The reference draws from all
// pods, which is the same where nothing limits them, and loses the draw otherwise.
std::uint32_t Balancer::better_of_two(const PodRoster& roster) {
  const PodLine& line = roster.line();
  const std::size_t count = line.open_count();
  if (count == 1) {
    return line.any_open(0);
  }
  const std::uint64_t bits = random_bits();
  const std::size_t draw = ((bits >> 32U) * count) >> 32U;
  const std::size_t other = ((bits & 0xFFFF'FFFFU) * (count - 1)) >> 32U;
  const std::uint32_t first = line.any_open(draw);
  const std::uint32_t second = line.any_open(other + (other >= draw ? 1U : 0U));
  // One comparison settles load and coin: a branch on chance would be guessed wrong half the time.
  const std::uint64_t first_load = 2 * std::uint64_t{roster.load_at(first)} + (bits & 1U);
  const std::uint64_t second_load = 2 * std::uint64_t{roster.load_at(second)} + (~bits & 1U);
  return first_load < second_load ? first : second;
}

// SplitMix64.
std::uint64_t Balancer::random_bits() {
  random_ += 0x9E3779B97F4A7C15ULL;
  std::uint64_t mixed = random_;
  mixed = (mixed ^ (mixed >> 30U)) * 0xBF58476D1CE4E5B9ULL;
  mixed = (mixed ^ (mixed >> 27U)) * 0x94D049BB133111EBULL;
  return mixed ^ (mixed >> 31U);
}

}  // namespace sluice::activator
