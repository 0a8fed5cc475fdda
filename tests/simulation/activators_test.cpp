// Goal: no request is lost, doubled or forgotten, and the two ends of every link agree in the end,
// whatever is killed, cut, late or out of step meanwhile.
// Method: the cores of several activators and an autoscaler, joined as the programs join them, in
// worlds drawn from seeds; the rules are checked after every event. A run that breaks one prints
// its shape and seed; SLUICE_ACTIVATORS_SEED plays that seed alone, SLUICE_ACTIVATORS_SEEDS is how
// many are played.
#include "tests/simulation/activators_shapes.h"
#include "tests/simulation/activators_world.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace sluice::simulation {
namespace {

// What a quarter of a minute plays; sanitizers are ten times slower.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr std::uint64_t kSeeds = 20;
#elif defined(NDEBUG)
constexpr std::uint64_t kSeeds = 300;
#else
constexpr std::uint64_t kSeeds = 150;
#endif

std::uint64_t from_environment(const char* name, std::uint64_t otherwise) {
  const char* const text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

class ActivatorsIn : public testing::TestWithParam<ActivatorsShape> {};

std::string named(const testing::TestParamInfo<ActivatorsShape>& info) {
  return std::string(name(info.param));
}

INSTANTIATE_TEST_SUITE_P(Worlds, ActivatorsIn, testing::ValuesIn(kActivatorsShapes), named);

TEST_P(ActivatorsIn, KeepEveryRule) {
  const std::uint64_t only = from_environment("SLUICE_ACTIVATORS_SEED", 0);
  const std::uint64_t first = only == 0 ? 1 : only;
  const std::uint64_t last = only == 0 ? from_environment("SLUICE_ACTIVATORS_SEEDS", kSeeds) : only;
  ActivatorsOutcome all;

  for (std::uint64_t seed = first; seed <= last; ++seed) {
    const ActivatorsOutcome outcome = play(activators_world(GetParam(), seed));
    EXPECT_EQ(outcome.breach, "");
    if (!outcome.breach.empty()) continue;
    EXPECT_EQ(outcome.sent, outcome.answered + outcome.refused + outcome.cut + outcome.left)
        << "seed " << seed;
    all.add(outcome);
  }
  std::printf("%s\n", printed(all).c_str());
}

// What planted_faults_test.cpp adds to a shape breaks no rule by itself.
TEST(ActivatorsWorlds, KeepEveryRuleWhileStreamsBreakConstantly) {
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    ActivatorsWorld world = activators_world(ActivatorsShape::naps, seed);
    break_streams(world);
    EXPECT_EQ(play(world).breach, "");
  }
}

// Seeds that broke a rule once, with the cause. Links 26: idle pods were scaled to zero although no
// activator was connected. Clocks 5 and storm 18: after the autoscaler's clock stepped back no pod
// could be stopped until it had caught up.
TEST(ActivatorsWorlds, KeepEveryRuleForSeedsThatOnceFailed) {
  EXPECT_EQ(play(activators_world(ActivatorsShape::links, 26)).breach, "");
  EXPECT_EQ(play(activators_world(ActivatorsShape::clocks, 5)).breach, "");
  EXPECT_EQ(play(activators_world(ActivatorsShape::storm, 18)).breach, "");
}

}  // namespace
}  // namespace sluice::simulation
