// Goal: a fault in the autoscaler's engine or in the activator breaks a rule that
// activators_test.cpp checks, and the simulation says so. Method: each program that this stands in
// has one file of theirs with one fault planted (plant_fault.py), and plays the test of that name
// alone.
#include "tests/simulation/activators_shapes.h"
#include "tests/simulation/activators_world.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <ostream>
#include <string>
#include <vector>

namespace sluice::simulation {
namespace {

constexpr std::uint64_t kSeeds = 12;

struct Planted {
  friend std::ostream& operator<<(std::ostream& out, const Planted& planted) {
    return out << planted.name;
  }

  std::string name;
  ActivatorsShape shape = ActivatorsShape::naps;
  std::string breach;  ///< a part of what is said
  std::function<void(ActivatorsWorld&)> change = [](ActivatorsWorld&) {};
};

void one_at_a_time(ActivatorsWorld& world) {
  world.container_concurrency = 1;
  world.service.to = std::chrono::seconds{1};
}

std::vector<Planted> faults() {
  using S = ActivatorsShape;
  return {
      {"RemovesAtOnce", S::naps, "may be stopped while"},
      {"KeepsLeaversSecret", S::naps, "may be stopped while"},
      {"SleepsUnheard", S::naps, "is scaled to zero while no activator is connected",
       break_streams},
      {"NeverSleeps", S::calm, "pods left when all should be at rest"},
      {"PublishesLate", S::naps, "sleeps on while a request waits"},
      {"TicksOnce", S::calm, "pods left when all should be at rest"},
      {"TellsOnce", S::calm, "unconnected activators left"},
      {"BelievesApplied", S::links, "may be stopped while"},
      {"ServesNewestFirst", S::naps, "overtakes one who waits", one_at_a_time},
      {"ForgetsToLeave", S::naps, "waits while a pod has room", one_at_a_time},
      {"LosesAnAdmission", S::calm, "waits while a pod has room"},
      {"LosesPods", S::naps, "has pods that"},
  };
}

class PlantedFaults : public testing::TestWithParam<Planted> {};

INSTANTIATE_TEST_SUITE_P(Programs, PlantedFaults, testing::ValuesIn(faults()),
                         [](const auto& each) { return each.param.name; });

TEST_P(PlantedFaults, AreNoticed) {
  const Planted& planted = GetParam();
  bool noticed = false;
  std::string said;

  for (std::uint64_t seed = 1; seed <= kSeeds && !noticed; ++seed) {
    ActivatorsWorld world = activators_world(planted.shape, seed);
    planted.change(world);
    const std::string breach = play(world).breach;
    noticed = breach.find(planted.breach) != std::string::npos;
    said += breach + "\n";
  }

  EXPECT_TRUE(noticed) << said;
}

}  // namespace
}  // namespace sluice::simulation
