#pragma once

#include "tests/simulation/activators_shapes.h"
#include "tests/simulation/activators_world.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <ostream>
#include <string>

namespace sluice::simulation {

/// A world in which something is wrong, and how the rules report it.
struct Breach {
  friend std::ostream& operator<<(std::ostream& out, const Breach& breach) {
    return out << breach.name;
  }

  std::string name;
  ActivatorsShape shape = ActivatorsShape::naps;
  std::string said;  ///< a part of it
  std::function<void(ActivatorsWorld&)> change = [](ActivatorsWorld&) {};
  Mutant mutant = Mutant::none;
};

inline void one_at_a_time(ActivatorsWorld& world) {
  world.container_concurrency = 1;
  world.service.to = std::chrono::seconds{1};
}

/// Plays worlds of a few seeds until one reports what it should. A mutant's world is played without
/// it first, where nothing may be said.
inline void expect_noticed(const Breach& breach) {
  constexpr std::uint64_t kSeeds = 12;
  bool noticed = false;
  std::string said;
  for (std::uint64_t seed = 1; seed <= kSeeds && !noticed; ++seed) {
    ActivatorsWorld world = activators_world(breach.shape, seed);
    breach.change(world);
    if (breach.mutant != Mutant::none) EXPECT_EQ(play(world).breach, "") << "without the mutant";
    world.mutant = breach.mutant;
    const std::string now = play(world).breach;
    noticed = now.find(breach.said) != std::string::npos;
    said += now + "\n";
  }
  EXPECT_TRUE(noticed) << said;
}

}  // namespace sluice::simulation
