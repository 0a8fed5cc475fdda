// Goal: the rules that activators_test.cpp checks can be broken at all, and the checks notice it.
// Method: worlds in which one part does one thing wrong. Each must break the rule it is made for,
// within a few seeds; the same worlds without it break none.
#include "tests/simulation/activators_breaches.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace sluice::simulation {
namespace {

std::vector<Breach> wrongs() {
  using S = ActivatorsShape;
  const auto nothing = [](ActivatorsWorld&) {};
  return {
      {"AnswersTwice", S::calm, "ends twice", nothing, Mutant::answers_twice},
      {"RetriesBegun", S::deaths, "is tried again though an application may have begun it", nothing,
       Mutant::retries_begun},
      {"SidecarLetsAllIn", S::crowd, "exceeds containerConcurrency", one_at_a_time,
       Mutant::sidecar_lets_all_in},
      {"DeafAutoscaler", S::naps, "sleeps on while a request waits", nothing,
       Mutant::deaf_autoscaler},
      {"VersionsRestart", S::restarts, "is given an older version", nothing,
       Mutant::versions_restart},
      {"StreamLosesStates", S::calm, "has two states at", nothing, Mutant::stream_loses_states},
  };
}

class ActivatorsMutants : public testing::TestWithParam<Breach> {};

INSTANTIATE_TEST_SUITE_P(Worlds, ActivatorsMutants, testing::ValuesIn(wrongs()),
                         [](const auto& each) { return each.param.name; });

TEST_P(ActivatorsMutants, AreNoticed) {
  expect_noticed(GetParam());
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
