// Goal: a clock that jumps in the middle of load loses no request and disturbs no decision for
// long. Jumps within a stable window are the dangerous ones: what they leave in the windows looks
// like no load. Method: the curves of the shapes, whose scaler gets another time from a moment on;
// the world itself notices nothing.
#include "tests/simulation/shapes.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <tuple>

namespace sluice::simulation {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr std::uint64_t kSeeds = 16;

class ClockJump : public testing::TestWithParam<std::tuple<Shape, std::int64_t>> {
 protected:
  static Curve jumping(std::uint64_t seed) {
    const auto [shape, by] = GetParam();
    Curve curve = curve_of(shape, seed);
    curve.length = hours{1};
    curve.healed = curve.length;
    curve.jumps = {{minutes{40} + seconds{seed}, seconds{by}}};
    return curve;
  }
};

std::string named(const testing::TestParamInfo<std::tuple<Shape, std::int64_t>>& info) {
  const auto [shape, by] = info.param;
  return std::string(name(shape)) + (by > 0 ? "_forward_" : "_back_") +
         std::to_string(std::abs(by));
}

INSTANTIATE_TEST_SUITE_P(All, ClockJump,
                         testing::Combine(testing::Values(Shape::step, Shape::on_off, Shape::ramp,
                                                          Shape::slow_starters, Shape::crash_loops),
                                          testing::Values(3600, -3600, 15, 30, 59)),
                         named);

TEST_P(ClockJump, KeepsEveryPropertyAndComesToRest) {
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    const Curve curve = jumping(seed);
    const CurveOutcome outcome = CurveWorld{curve}.run();
    EXPECT_EQ(outcome.breach, "");
    EXPECT_EQ(outcome.want_at_end, at_rest(curve.scaling)) << "seed " << seed;
  }
}

TEST_P(ClockJump, KeepsTheDecisionUntilThereIsData) {
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    Curve curve = jumping(seed);
    const Duration at = curve.jumps.front().at;
    curve.deaf = {at, at + seconds{9}};
    std::optional<std::int32_t> before;
    curve.watch = [&](Duration since, const autoscaler::ScaleState& state) {
      if (since < at) before = state.want;
      if (since < at || since >= curve.deaf.to || !before) return;
      EXPECT_EQ(state.want, *before) << "seed " << seed << " at " << to_seconds(since);
    };
    const CurveOutcome outcome = CurveWorld{curve}.run();
    EXPECT_EQ(outcome.breach, "");
  }
}

}  // namespace
}  // namespace sluice::simulation
