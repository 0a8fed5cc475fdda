// Plans over many random worlds: what must never happen, and that no plan could have fewer moves.

#include "tests/unit/autoscaler/placement/core/scene.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>
#include <string>
#include <vector>

namespace sluice::placement {
namespace {

using namespace std::chrono_literals;

class Dice {
 public:
  explicit Dice(std::uint64_t seed) : random_(seed) {}

  [[nodiscard]] std::int64_t from_to(std::int64_t least, std::int64_t most) {
    const auto count = static_cast<std::uint64_t>(most - least + 1);
    return least + static_cast<std::int64_t>(random_() % count);
  }

  [[nodiscard]] bool one_in(std::int64_t count) { return from_to(1, count) == 1; }

 private:
  std::mt19937_64 random_;
};

// Replicas of every service, and that every node holds what is on it.
class Checked {
 public:
  explicit Checked(Scene& scene, std::size_t services) : scene_(scene), services_(services) {}

  [[nodiscard]] std::vector<std::int64_t> replicas() const {
    std::vector<std::int64_t> counts;
    for (std::uint32_t at = 0; at < services_; ++at) {
      std::int64_t count = 0;
      for (const Holding& held : scene_.ledger().holdings(ServiceId{at})) count += held.used.slots;
      counts.push_back(count);
    }
    return counts;
  }

  [[nodiscard]] std::string overfull() const {
    for (const PlaceId place : scene_.ledger().places()) {
      for (const NodeId node : scene_.ledger().nodes(place)) {
        const Resources free = scene_.ledger().free(node);
        if (free.cpu < 0 || free.memory < 0 || free.slots < 0)
          return scene_.ledger().node(node).name;
      }
    }
    return "";
  }

 private:
  Scene& scene_;
  std::size_t services_;
};

void build(Scene& scene, Dice& dice, std::int64_t places, std::int64_t services) {
  for (std::int64_t at = 0; at < places; ++at) {
    scene.place("p" + std::to_string(at),
                {.preference = static_cast<std::int32_t>(dice.from_to(0, 2)),
                 .capacity = {dice.from_to(8, 20) * 100, dice.from_to(8, 20), dice.from_to(4, 9)},
                 .nodes = static_cast<std::int32_t>(dice.from_to(1, 3)),
                 .packing = dice.one_in(2) ? Packing::pack : Packing::spread});
  }
  for (std::int64_t at = 0; at < services; ++at) {
    Scene::ServiceForm form{.need = {dice.from_to(0, 8) * 100, dice.from_to(0, 6), 1}};
    for (std::int64_t place = 0; place < places; ++place) {
      if (dice.one_in(2)) form.wish.clusters.push_back("p" + std::to_string(place));
    }
    form.wish.any = dice.one_in(3);
    form.wish.max_per_node = static_cast<std::int32_t>(dice.one_in(4) ? dice.from_to(1, 2) : 0);
    form.wish.move_priority = static_cast<std::int32_t>(dice.from_to(-2, 2));
    if (dice.one_in(8)) form.wish.movable = false;
    if (dice.one_in(4)) form.application = "app" + std::to_string(dice.from_to(1, 3));
    const std::string name = "s" + std::to_string(at);
    scene.service(name, form);
    scene.measures(name).in_flight = dice.from_to(0, 20);
    for (std::int64_t replica = dice.from_to(0, 3); replica > 0; --replica) {
      (void)scene.start(name);
    }
  }
}

void set_policy(Scene& scene, Dice& dice) {
  constexpr std::array<const char*, 6> kNames{"cpu-utilization", "dispersion",   "in-flight",
                                              "request-rate",    "restart-cost", "home-distance"};
  scene.policy = {.name = "random"};
  scene.policy.mode =
      dice.one_in(2) ? MigrationPolicy::Mode::scoring : MigrationPolicy::Mode::order;
  scene.policy.select =
      dice.one_in(4) ? MigrationPolicy::Select::policy_first : MigrationPolicy::Select::fewest;
  for (std::int64_t at = dice.from_to(0, 3); at > 0; --at) {
    scene.policy.algorithms.push_back(
        {.name = kNames[static_cast<std::size_t>(dice.from_to(0, 5))]});
  }
  scene.limits.worth_divisor = dice.one_in(3) ? 2 : 1000;
}

// Starts what a plan reserves, ends what it leaves, and starts the demand.
void carry_out(Scene& scene, const MovePlan& plan, const Demand& demand) {
  Ledger& ledger = scene.ledger();
  for (const Reservation& each : ledger.expire(TimePoint::max())) {
    ASSERT_NE(each.expires, TimePoint{});
    const bool of_move = each.purpose == Purpose::move;
    ASSERT_EQ(each.owner.kind == Owner::Kind::move, of_move);
    if (of_move) ledger.take(each.node, each.service, each.room);
  }
  for (const PlannedMove& move : plan.moves) {
    for (const NodeId node : move.from_nodes) ledger.give_back(node, move.service, move.need);
  }
  ledger.take(plan.node, demand.service, demand.need);
}

// Goal: 100,000 plans never do what they must not, whatever the world.
// Method: each plan is reserved, carried out and compared with the ledger before it.
TEST(Plans, RandomPlansKeepEveryRule) {
  constexpr int kPlans = 100'000;
  constexpr std::int64_t kServices = 10;
  int found = 0;
  for (std::uint64_t seed = 1; found < kPlans; ++seed) {
    Dice dice{seed};
    Scene scene;
    build(scene, dice, dice.from_to(2, 4), kServices);
    set_policy(scene, dice);
    const Checked checked{scene, kServices};
    for (int each = 0; each < 40; ++each) {
      const std::string name = "s" + std::to_string(dice.from_to(0, kServices - 1));
      const auto before = checked.replicas();
      const PlanOutcome outcome = scene.outcome(name);
      ASSERT_EQ(checked.replicas(), before) << seed;
      if (!outcome.plan) continue;
      ++found;
      const Demand demand = scene.demand(name);
      for (const PlannedMove& move : outcome.plan->moves) {
        ASSERT_EQ(move.from_nodes.size(), move.to_nodes.size()) << seed;
        for (const NodeId node : move.to_nodes) {
          ASSERT_EQ(std::count(move.from_nodes.begin(), move.from_nodes.end(), node), 0) << seed;
          ASSERT_EQ(scene.ledger().node(node).place, move.to) << seed;
        }
      }
      const auto reserved =
          reserve(scene.ledger(), *outcome.plan, demand, MoveId{1}, scene.now + 60s);
      ASSERT_GT(reserved.size(), outcome.plan->moves.size() - 1) << seed;
      ASSERT_EQ(checked.overfull(), "") << seed << ": while old and new replicas run";
      carry_out(scene, *outcome.plan, demand);
      ASSERT_EQ(checked.overfull(), "") << seed;
      auto after = checked.replicas();
      --after[index_of(demand.service)];
      ASSERT_EQ(after, before) << seed << ": no service has fewer than before";
      ASSERT_EQ(scene.ledger().problem(), "") << seed;
      scene.ledger().give_back(outcome.plan->node, demand.service, demand.need);
    }
  }
}

// The fewest services of one place whose move lets the demand in, by trying every set and every
// destination; -1: there is none of at most `most`.
int exhaustive(Scene& scene, const std::string& demand, std::size_t services, int most) {
  const Demand wanted = scene.demand(demand);
  Ledger& ledger = scene.ledger();
  int best = -1;
  for (const auto& target : wanted.order->entries()) {
    const NodeId node = ledger.nodes(target.place).front();
    for (std::uint32_t set = 1; set < (1U << services); ++set) {
      std::vector<ServiceId> moved;
      Resources room = ledger.free(node);
      for (std::uint32_t at = 0; at < services; ++at) {
        if ((set >> at & 1U) == 0) continue;
        moved.push_back(ServiceId{at});
        room += ledger.used(target.place, ServiceId{at});
      }
      const int count = static_cast<int>(moved.size());
      const bool all_there = std::all_of(moved.begin(), moved.end(), [&](ServiceId each) {
        return ledger.used(target.place, each).slots > 0 && scene.find(each)->movable;
      });
      if (!all_there || count > most || (best >= 0 && count >= best)) continue;
      if (!fits(wanted.need, room)) continue;
      // Every way to give each of them another place.
      const auto places = ledger.places();
      std::size_t ways = 1;
      for (int at = 0; at < count; ++at) ways *= places.size();
      for (std::size_t way = 0; way < ways; ++way) {
        std::vector<Resources> free;
        for (const PlaceId place : places) free.push_back(ledger.free(ledger.nodes(place).front()));
        std::size_t rest = way;
        bool fit = true;
        for (const ServiceId each : moved) {
          const std::size_t to = rest % places.size();
          rest /= places.size();
          const Resources& need = scene.find(each)->need;
          fit = fit && places[to] != target.place && fits(need, free[to]) &&
                scene.find(each)->order->tier_of(places[to]).has_value();
          free[to] -= need;
        }
        if (fit) {
          best = count;
          break;
        }
      }
    }
  }
  return best;
}

// Goal: the planner finds a plan if there is one, and no plan has fewer moves.
// Method: 10,000 full worlds of 7 applications, against a search that tries everything.
TEST(Plans, NoPlanHasMoreMovesThanAnExhaustiveSearchNeeds) {
  constexpr std::size_t kServices = 7;
  int planned = 0;
  std::array<int, 4> sizes{};
  for (std::uint64_t seed = 1; planned < 10'000; ++seed) {
    Dice dice{seed};
    Scene scene;
    scene.limits.worth_divisor = 1'000'000;
    const std::int64_t places = dice.from_to(2, 4);
    for (std::int64_t at = 0; at < places; ++at) {
      scene.place("p" + std::to_string(at),
                  {.preference = static_cast<std::int32_t>(dice.from_to(0, 1)),
                   .capacity = {dice.from_to(6, 14) * 100, dice.from_to(6, 14), kUnbounded}});
    }
    for (std::size_t at = 0; at <= kServices; ++at) {
      Scene::ServiceForm form{.need = {dice.from_to(1, 6) * 100, dice.from_to(1, 6), 1}};
      for (std::int64_t place = 0; place < places; ++place) {
        if (dice.one_in(2)) form.wish.clusters.push_back("p" + std::to_string(place));
      }
      if (dice.one_in(9)) form.wish.movable = false;
      const std::string name = "s" + std::to_string(at);
      scene.service(name, form);
      if (at < kServices) (void)scene.start(name);
    }
    const std::string demand = "s" + std::to_string(kServices);
    const PlanOutcome outcome = scene.outcome(demand);
    if (outcome.reason == NoPlan::not_needed || outcome.reason == NoPlan::too_big) continue;
    ++planned;
    const int moves = outcome.plan ? static_cast<int>(outcome.plan->moves.size()) : -1;
    ASSERT_EQ(moves, exhaustive(scene, demand, kServices, scene.limits.moves_max)) << seed;
    ++sizes[static_cast<std::size_t>(std::max(0, moves))];
  }
  for (const int count : sizes) EXPECT_GT(count, 0);
}

TEST(Plans, EqualWorldsGiveEqualPlans) {
  for (std::uint64_t seed = 1; seed < 300; ++seed) {
    std::vector<std::string> plans;
    for (int twice = 0; twice < 2; ++twice) {
      Dice dice{seed};
      Scene scene;
      build(scene, dice, 3, 10);
      set_policy(scene, dice);
      for (int each = 0; each < 10; ++each) plans.push_back(scene.plan("s" + std::to_string(each)));
    }
    for (std::size_t at = 0; at < 10; ++at) ASSERT_EQ(plans[at], plans[at + 10]) << seed;
  }
}

}  // namespace
}  // namespace sluice::placement
