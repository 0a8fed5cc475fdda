// What holds for every policy and whatever is measured, over random services.

#include "autoscaler/placement/core/algorithms.h"
#include "tests/unit/autoscaler/placement/core/scene.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <random>
#include <string>
#include <vector>

namespace sluice::placement {
namespace {

constexpr std::size_t kServices = 8;
constexpr int kWorlds = 2000;
constexpr std::array<const char*, 6> kNames{"cpu-utilization", "dispersion",   "in-flight",
                                            "request-rate",    "restart-cost", "home-distance"};

// Services with measures of few values, so that many are equal, some absent; and a policy.
class RandomWorld {
 public:
  explicit RandomWorld(std::uint64_t seed) : random_{seed} {
    scene.place("fast", {.preference = 0});
    scene.place("slow", {.preference = 1});
    for (std::size_t at = 0; at < kServices; ++at) {
      const std::string name = "s" + std::to_string(at);
      services.push_back(scene.service(name, {.need = cpu(500 * from_to(1, 3))}));
      scene.run(name, one_in(2) ? "fast" : "slow", from_to(1, 2));
      scene.facts(name).move_priority = static_cast<std::int32_t>(from_to(-1, 1));
      scene.facts(name).usual_start = std::chrono::seconds{from_to(1, 3)};
      scene.facts(name).application = ApplicationId{static_cast<std::uint32_t>(from_to(1, 3))};
      Scene::Measures& measures = scene.measures(name);
      measures = {.cpu_used = maybe(100), .in_flight = maybe(1), .request_rate = maybe(1000)};
    }
    policy.name = "random";
    for (std::int64_t at = from_to(1, 3); at > 0; --at) {
      AlgorithmRef ref{.name = kNames[static_cast<std::size_t>(from_to(0, 5))]};
      ref.weight = from_to(1, 4);
      ref.quantum = one_in(2) ? 10'000 : 400'000;
      if (one_in(3)) ref.direction = one_in(2) ? Direction::low_first : Direction::high_first;
      policy.algorithms.push_back(ref);
    }
  }

  /// The services as the policy moves them, from whatever order they come in.
  [[nodiscard]] std::vector<ServiceId> sorted() {
    std::shuffle(services.begin(), services.end(), random_);
    std::vector<ServiceId> all = services;
    scene.parameters().begin_cycle();
    (void)sort_by_policy(all, policy, scene, scene.parameters());
    return all;
  }

  [[nodiscard]] std::int64_t priority(ServiceId service) const {
    return scene.find(service)->move_priority;
  }

  /// By one algorithm of the policy.
  [[nodiscard]] std::optional<Ppm> rate(const AlgorithmRef& ref, ServiceId service) {
    return scene.parameters().rate(*find_algorithm(ref.name), service);
  }

  [[nodiscard]] static bool low_first(const AlgorithmRef& ref) {
    return ref.direction.value_or(find_algorithm(ref.name)->direction) == Direction::low_first;
  }

  Scene scene;
  std::vector<ServiceId> services;
  MigrationPolicy policy;

 private:
  [[nodiscard]] std::int64_t from_to(std::int64_t least, std::int64_t most) {
    return least +
           static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(most - least + 1));
  }

  [[nodiscard]] bool one_in(std::int64_t count) { return from_to(1, count) == 1; }

  [[nodiscard]] std::optional<std::int64_t> maybe(std::int64_t unit) {
    if (one_in(6)) return std::nullopt;
    return unit * from_to(0, 3);
  }

  std::mt19937_64 random_;
};

// What ORDER compares, one after the other: priority, the quantum of each algorithm, id.
std::vector<std::int64_t> order_key(RandomWorld& world, ServiceId service) {
  std::vector<std::int64_t> key{world.priority(service)};
  for (const AlgorithmRef& ref : world.policy.algorithms) {
    const auto rate = world.rate(ref, service);
    const std::int64_t steps = rate ? *rate / ref.quantum : 0;
    key.push_back(!rate                         ? std::numeric_limits<std::int64_t>::max()
                  : RandomWorld::low_first(ref) ? steps
                                                : -steps);
  }
  key.push_back(static_cast<std::int64_t>(index_of(service)));
  return key;
}

// The weighted sum of SCORING with floating point, straight from its definition.
double score(RandomWorld& world, ServiceId service) {
  double sum = 0;
  for (const AlgorithmRef& ref : world.policy.algorithms) {
    const auto own = world.rate(ref, service);
    if (!own) continue;
    Ppm least = *own;
    Ppm most = *own;
    for (const ServiceId other : world.services) {
      const auto rate = world.rate(ref, other);
      if (!rate) continue;
      least = std::min(least, *rate);
      most = std::max(most, *rate);
    }
    const double part =
        most == least ? 0 : static_cast<double>(*own - least) / static_cast<double>(most - least);
    sum += static_cast<double>(ref.weight) * (RandomWorld::low_first(ref) ? 1 - part : part);
  }
  return sum;
}

// Goal: the first algorithm decides, of equals the next, whatever order the services come in.
// Method: each pair of neighbours is compared by keys made from the definition.
TEST(PolicyProperties, OrderComparesByEachAlgorithmInTurnAndEndsWithTheId) {
  for (std::uint64_t seed = 1; seed <= kWorlds; ++seed) {
    RandomWorld world{seed};
    world.policy.mode = MigrationPolicy::Mode::order;
    const std::vector<ServiceId> sorted = world.sorted();
    for (std::size_t at = 1; at < sorted.size(); ++at) {
      ASSERT_LT(order_key(world, sorted[at - 1]), order_key(world, sorted[at])) << seed;
    }
    ASSERT_EQ(world.sorted(), sorted) << seed;
  }
}

bool rated_alike(RandomWorld& world, ServiceId one, ServiceId other) {
  return std::all_of(
      world.policy.algorithms.begin(), world.policy.algorithms.end(),
      [&](const AlgorithmRef& ref) { return world.rate(ref, one) == world.rate(ref, other); });
}

// Goal: the greatest weighted sum of shares of the range is first; of equals the lower priority.
// Method: sums by the definition in floating point, which differ by rounding at most.
TEST(PolicyProperties, ScoringPutsTheGreatestWeightedSumFirst) {
  constexpr double kRounding = 1e-4;
  int alike = 0;
  for (std::uint64_t seed = 1; seed <= kWorlds; ++seed) {
    RandomWorld world{seed};
    world.policy.mode = MigrationPolicy::Mode::scoring;
    const std::vector<ServiceId> sorted = world.sorted();
    for (std::size_t at = 1; at < sorted.size(); ++at) {
      const ServiceId before = sorted[at - 1];
      ASSERT_GE(score(world, before), score(world, sorted[at]) - kRounding) << seed;
      if (!rated_alike(world, before, sorted[at])) continue;
      ++alike;
      ASSERT_LE(world.priority(before), world.priority(sorted[at])) << seed;
    }
    ASSERT_EQ(world.sorted(), sorted) << seed;
  }
  EXPECT_GT(alike, kWorlds / 10);
}

// Goal: a weight counts beside the others alone.
TEST(PolicyProperties, ScoringIsTheSameWhenAllWeightsGrowAlike) {
  for (std::uint64_t seed = 1; seed <= kWorlds; ++seed) {
    RandomWorld world{seed};
    world.policy.mode = MigrationPolicy::Mode::scoring;
    const std::vector<ServiceId> sorted = world.sorted();
    for (AlgorithmRef& ref : world.policy.algorithms) ref.weight *= 100;
    ASSERT_EQ(world.sorted(), sorted) << seed;
  }
}

// Goal: what is not measured is never taken for the least.
TEST(PolicyProperties, AServiceWithoutAnyMeasureIsLastOfItsPriority) {
  for (std::uint64_t seed = 1; seed <= kWorlds; ++seed) {
    RandomWorld world{seed};
    world.policy.mode = MigrationPolicy::Mode::order;
    world.policy.algorithms = {{.name = "in-flight"}};
    world.scene.facts("s0").move_priority = 0;
    world.scene.measures("s0").in_flight = std::nullopt;
    bool seen = false;
    for (const ServiceId each : world.sorted()) {
      if (each == world.scene.id("s0")) {
        seen = true;
      } else if (seen && world.priority(each) == 0) {
        ASSERT_FALSE(world.rate(world.policy.algorithms.front(), each)) << seed;
      }
    }
  }
}

}  // namespace
}  // namespace sluice::placement
