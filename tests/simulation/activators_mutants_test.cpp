// Goal: the rules that activators_test.cpp checks can be broken at all, and somebody notices.
// Method: worlds in which one part does one thing wrong. Each must break the rule it is made for,
// within a few seeds; the same worlds without it break none.
#include "tests/simulation/activators_shapes.h"
#include "tests/simulation/activators_world.h"

#include <gtest/gtest.h>

#include <functional>
#include <ostream>
#include <string>

namespace sluice::simulation {
namespace {

constexpr std::uint64_t kSeeds = 12;

struct Wrong {
  friend std::ostream& operator<<(std::ostream& out, const Wrong& wrong) {
    return out << wrong.name;
  }

  std::string name;
  Mutant mutant = Mutant::none;
  ActivatorsShape shape = ActivatorsShape::naps;
  std::string breach;  ///< a part of what is said
  std::function<void(ActivatorsWorld&)> change = [](ActivatorsWorld&) {};
};

void one_at_a_time(ActivatorsWorld& world) {
  world.container_concurrency = 1;
  world.service.to = std::chrono::seconds{1};
}

std::vector<Wrong> wrongs() {
  using S = ActivatorsShape;
  return {
      {"AnswersTwice", Mutant::answers_twice, S::calm, "ends twice"},
      {"RetriesBegun", Mutant::retries_begun, S::deaths,
       "is tried again though an application may have begun it"},
      {"SidecarLetsAllIn", Mutant::sidecar_lets_all_in, S::crowd, "exceeds containerConcurrency",
       one_at_a_time},
      {"DeafAutoscaler", Mutant::deaf_autoscaler, S::naps, "sleeps on while a request waits"},
      {"VersionsRestart", Mutant::versions_restart, S::restarts, "is given an older version"},
      {"StreamLosesStates", Mutant::stream_loses_states, S::calm, "has two states at"},
  };
}

class ActivatorsMutants : public testing::TestWithParam<Wrong> {};

INSTANTIATE_TEST_SUITE_P(Worlds, ActivatorsMutants, testing::ValuesIn(wrongs()),
                         [](const auto& each) { return each.param.name; });

TEST_P(ActivatorsMutants, AreNoticed) {
  const Wrong& wrong = GetParam();
  bool noticed = false;
  std::string said;

  for (std::uint64_t seed = 1; seed <= kSeeds && !noticed; ++seed) {
    ActivatorsWorld world = activators_world(wrong.shape, seed);
    wrong.change(world);
    EXPECT_EQ(play(world).breach, "") << "without the mutant";
    world.mutant = wrong.mutant;
    const std::string breach = play(world).breach;
    noticed = breach.find(wrong.breach) != std::string::npos;
    said += breach + "\n";
  }

  EXPECT_TRUE(noticed) << said;
}

TEST(ActivatorsWorlds, PlayTheSameForTheSameSeedAndOtherwiseForAnother) {
  const auto figures = [](std::uint64_t seed) {
    return printed(play(activators_world(ActivatorsShape::storm, seed)));
  };

  EXPECT_EQ(figures(7), figures(7));
  EXPECT_NE(figures(7), figures(8));
}

}  // namespace
}  // namespace sluice::simulation
