// Goal: each property can fail. Method: the records of a small course that keeps all of them, one
// of them doctored.
#include "tests/simulation/properties.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace sluice::simulation {
namespace {

using autoscaler::Mode;
using std::chrono::seconds;

constexpr TimePoint kStart{seconds{1'700'000'000}};

// Target 10, rates 2 and 2, windows of 60 s and 6 s, threshold 2, one to twenty pods.
autoscaler::ScalingSpec rules() {
  autoscaler::ScalingSpec scaling;
  scaling.decider.target_value = 10;
  scaling.decider.max_scale_up_rate = 2;
  scaling.bounds = {.min = 1, .max = 20};
  return scaling;
}

autoscaler::ScaleState state(Duration at, double load, std::int32_t ready, std::int32_t desired,
                             Mode mode = Mode::stable) {
  autoscaler::ScaleState made;
  made.record.time = kStart + at;
  made.record.valid = true;
  made.record.stable = load;
  made.record.panic = load;
  made.record.ready = ready;
  made.record.mode = mode;
  made.record.desired = desired;
  made.want = desired;
  return made;
}

// What the last of the states breaks; the ones before it break nothing. Between them the answer
// stands, without data, so that no time passes unobserved.
std::string broken_by(const std::vector<autoscaler::ScaleState>& states,
                      const autoscaler::ScalingSpec& scaling = rules(),
                      const Circumstances& world = {.want_before = 1, .in_flight = 1}) {
  Properties properties(scaling, 0, kStart);
  std::string broken;
  autoscaler::ScaleState between = states.front();
  for (const autoscaler::ScaleState& one : states) {
    while (between.record.time + seconds{2} < one.record.time) {
      between.record.valid = false;
      between.record.time += seconds{2};
      EXPECT_EQ(properties.check(between, world), "");
    }
    EXPECT_EQ(broken, "");
    broken = properties.check(one, world);
    between = one;
  }
  return broken.substr(0, broken.find(':'));
}

TEST(Properties, AcceptsARunThatKeepsThem) {
  EXPECT_EQ(broken_by({state(seconds{2}, 10, 1, 1), state(seconds{4}, 20, 1, 2, Mode::panic),
                       state(seconds{6}, 10, 2, 2, Mode::panic), state(seconds{66}, 10, 2, 1)}),
            "");
}

TEST(Properties, DetectsReplicasOutsideTheBounds) {
  EXPECT_EQ(broken_by({state(seconds{2}, 0, 0, 0)}, rules(), {.want_before = 0, .in_flight = 0}),
            "below the minimum");
  EXPECT_EQ(broken_by({state(seconds{2}, 210, 20, 21)}), "above the maximum");
}

TEST(Properties, DetectsZeroReplicasWithARequestInFlight) {
  autoscaler::ScalingSpec to_zero = rules();
  to_zero.bounds.min = 0;
  const std::vector<autoscaler::ScaleState> fall{state(seconds{2}, 10, 1, 1),
                                                 state(seconds{4}, 0, 1, 0)};

  EXPECT_EQ(broken_by(fall, to_zero, {.want_before = 1, .in_flight = 0}), "");
  EXPECT_EQ(broken_by(fall, to_zero, {.want_before = 1, .in_flight = 3}),
            "zero replicas with 3 requests in flight");
}

TEST(Properties, DetectsZeroReplicasBeforeAStableWindowOfServing) {
  autoscaler::ScalingSpec to_zero = rules();
  to_zero.bounds.min = 0;
  autoscaler::ScaleState serving = state(seconds{2}, 10, 1, 1);
  serving.activity = autoscaler::Activity::active;
  const Circumstances idle{.want_before = 1, .in_flight = 0};

  EXPECT_EQ(broken_by({serving, state(seconds{62}, 0, 1, 0)}, to_zero, idle), "");
  EXPECT_EQ(broken_by({serving, state(seconds{61}, 0, 1, 0)}, to_zero, idle),
            "zero replicas too soon");
}

TEST(Properties, DetectsARiseAboveTheRate) {
  EXPECT_EQ(broken_by({state(seconds{2}, 60, 3, 6, Mode::panic)}), "");
  EXPECT_EQ(broken_by({state(seconds{2}, 70, 3, 7, Mode::panic)}), "rises faster than the rate");
}

TEST(Properties, AllowsTheActivationScaleToExceedTheRate) {
  autoscaler::ScalingSpec activated = rules();
  activated.decider.activation_scale = 5;

  EXPECT_EQ(broken_by({state(seconds{2}, 10, 1, 5)}, activated), "");
  EXPECT_EQ(broken_by({state(seconds{2}, 10, 1, 6)}, activated), "rises faster than the rate");
}

TEST(Properties, DetectsAFallBelowTheRate) {
  EXPECT_EQ(broken_by({state(seconds{2}, 80, 8, 8), state(seconds{4}, 10, 8, 4)}), "");
  EXPECT_EQ(broken_by({state(seconds{2}, 80, 8, 8), state(seconds{4}, 10, 8, 3)}),
            "falls faster than the rate");
}

TEST(Properties, DetectsAFallDuringPanic) {
  const autoscaler::ScaleState rise = state(seconds{2}, 60, 3, 6, Mode::panic);

  EXPECT_EQ(broken_by({rise, state(seconds{4}, 10, 6, 6, Mode::panic)}), "");
  EXPECT_EQ(broken_by({rise, state(seconds{4}, 10, 6, 5, Mode::panic)}), "falls during panic");
}

TEST(Properties, DetectsPanicThatBeginsOrEndsWithoutCause) {
  const autoscaler::ScaleState rise = state(seconds{2}, 60, 3, 6, Mode::panic);

  EXPECT_EQ(broken_by({state(seconds{2}, 10, 3, 3, Mode::panic)}), "panics below the threshold");
  EXPECT_EQ(broken_by({state(seconds{2}, 60, 3, 6)}), "stays calm above the threshold");
  EXPECT_EQ(broken_by({rise, state(seconds{62}, 10, 6, 3)}),
            "leaves panic within a stable window of a breach");
  EXPECT_EQ(broken_by({rise, state(seconds{63}, 10, 6, 6, Mode::panic)}),
            "panics longer than a stable window");
}

TEST(Properties, DetectsADelayThatIsTooShortOrTooLong) {
  autoscaler::ScalingSpec delayed = rules();
  delayed.decider.scale_down_delay = seconds{20};
  const autoscaler::ScaleState before = state(seconds{2}, 60, 6, 6);

  EXPECT_EQ(broken_by({before, state(seconds{20}, 30, 6, 6)}, delayed), "");
  EXPECT_EQ(broken_by({before, state(seconds{20}, 30, 6, 5)}, delayed),
            "falls before the delay is over");
  EXPECT_EQ(broken_by({before, state(seconds{22}, 30, 6, 3)}, delayed), "");
  EXPECT_EQ(broken_by({before, state(seconds{22}, 30, 6, 6)}, delayed),
            "is held longer than the delay");
}

TEST(Properties, DetectsADecisionThatNoRuleExplains) {
  EXPECT_EQ(broken_by({state(seconds{2}, 60, 6, 6), state(seconds{4}, 40, 6, 6)}),
            "is held by nothing");
}

TEST(Properties, DetectsADecisionThatChangesWithoutData) {
  autoscaler::ScaleState silent = state(seconds{4}, 0, 6, 5);
  silent.record.valid = false;

  EXPECT_EQ(broken_by({state(seconds{2}, 60, 6, 6), silent}), "an answer without data");
}

TEST(Properties, PrintsDecisionsThatDifferInTheLastBitDifferently) {
  const double load = 6;

  EXPECT_EQ(printed(state(seconds{2}, load, 1, 1)), printed(state(seconds{2}, load, 1, 1)));
  EXPECT_NE(printed(state(seconds{2}, load, 1, 1)), printed(state(seconds{2}, load + 1e-15, 1, 1)));
}

}  // namespace
}  // namespace sluice::simulation
