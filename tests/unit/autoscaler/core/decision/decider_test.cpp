#include "autoscaler/core/decision/decider.h"

#include "tests/unit/autoscaler/core/fixtures.h"

#include <gtest/gtest.h>

#include <limits>
#include <sstream>
#include <string>

namespace sluice::autoscaler {
namespace {

using std::chrono::seconds;

// Feeds a decider what it would see and prints what it answers:
//   "30s panic 5 of 2..2 in 2..5000 ebc -161 bound:panic_hold"
// that is: time, mode, desired, ceil(S/target)..ceil(P/target), the limits of one step, the burst
// capacity and the rule that had the last word.
class Timeline {
 public:
  explicit Timeline(const DeciderSpec& spec = {}, std::int32_t ready = 1)
      : decider_(spec, ready, at(0)) {}

  Timeline& ready(std::int32_t pods) {
    ready_ = pods;
    return *this;
  }

  Timeline& spec(const DeciderSpec& changed) {
    decider_.update(changed);
    return *this;
  }

  std::string see(double second, double stable, double panic, bool has_data = true) {
    const Decision got = decider_.decide(
        {.stable = stable, .panic = panic, .has_data = has_data, .ready = ready_}, at(second));
    std::ostringstream text;
    text << second << "s " << name(got.mode) << ' ';
    if (!got.valid) {
      text << "invalid " << got.desired << " ebc " << got.excess_burst_capacity;
      return text.str();
    }
    text << got.desired << " of " << got.wanted_stable << ".." << got.wanted_panic << " in "
         << got.down_limit << ".." << got.up_limit << " ebc " << got.excess_burst_capacity
         << " bound:" << name(got.bound_by);
    return text.str();
  }

  void lose_count() { ready_.reset(); }

 private:
  Decider decider_;
  std::optional<std::int32_t> ready_ = 1;
};

TEST(Decider, SteadyLoadKeepsItsPods) {
  EXPECT_EQ(Timeline{}.ready(3).see(0, 190, 200),
            "0s stable 3 of 3..3 in 1..3000 ebc -111 bound:none");
}

TEST(Decider, EntersPanicHoldsItsPeakAndLeavesAfterAStableWindow) {
  Timeline line;

  EXPECT_EQ(line.ready(2).see(0, 100, 350), "0s panic 5 of 2..5 in 1..2000 ebc -361 bound:none");
  EXPECT_EQ(line.ready(5).see(30, 120, 60),
            "30s panic 5 of 2..1 in 2..5000 ebc 229 bound:panic_hold");
  EXPECT_EQ(line.see(60, 120, 60), "60s panic 5 of 2..1 in 2..5000 ebc 229 bound:panic_hold");
  EXPECT_EQ(line.see(60.000000001, 120, 60), "60s stable 2 of 2..1 in 2..5000 ebc 229 bound:none");
}

TEST(Decider, EveryBreachExtendsPanic) {
  Timeline line;
  line.ready(2).see(0, 100, 350);

  line.ready(1).see(30, 100, 350);

  EXPECT_EQ(line.ready(5).see(62, 60, 60),
            "62s panic 5 of 1..1 in 2..5000 ebc 229 bound:panic_hold");
  EXPECT_EQ(line.see(92, 60, 60), "92s stable 2 of 1..1 in 2..5000 ebc 229 bound:scale_down_rate");
}

TEST(Decider, GrowthBelowTheThresholdDoesNotExtendPanic) {
  Timeline line;
  line.ready(2).see(0, 100, 350);

  line.ready(5).see(58, 400, 400);

  EXPECT_EQ(line.ready(6).see(62, 70, 70),
            "62s stable 3 of 1..1 in 3..6000 ebc 319 bound:scale_down_rate");
}

TEST(Decider, InPanicTheLargerWindowDecides) {
  EXPECT_EQ(Timeline(target(10)).see(0, 333.33, 200),
            "0s panic 34 of 34..20 in 0..1000 ebc -311 bound:none");
}

TEST(Decider, TwoRequestsArePanicAtConcurrencyOne) {
  DeciderSpec spec = target(0.7);
  spec.total_value = 1;

  EXPECT_EQ(Timeline{spec}.see(0, 0.1, 2), "0s panic 3 of 1..3 in 0..1000 ebc -212 bound:none");
}

TEST(Decider, DownRateLimitsTheFallOfReachableRevisionsOnly) {
  DeciderSpec spec = target(10);
  spec.max_scale_down_rate = 1.1;
  Timeline line{spec};

  EXPECT_EQ(line.ready(100).see(0, 1, 1),
            "0s stable 90 of 1..1 in 90..100000 ebc 9788 bound:scale_down_rate");
  EXPECT_EQ(line.ready(90).see(2, 1, 1),
            "2s stable 81 of 1..1 in 81..90000 ebc 8788 bound:scale_down_rate");
  spec.reachable = false;
  EXPECT_EQ(line.spec(spec).see(4, 1, 1), "4s stable 1 of 1..1 in 0..90000 ebc 8788 bound:none");
}

TEST(Decider, LastPodMayBeRemovedAtOnce) {
  EXPECT_EQ(Timeline{}.ready(1).see(0, 0, 0), "0s stable 0 of 0..0 in 0..1000 ebc -111 bound:none");
}

TEST(Decider, UpRateAlwaysLeavesRoomForOneMore) {
  DeciderSpec spec = target(1);
  spec.max_scale_up_rate = 1.1;

  EXPECT_EQ(Timeline{spec}.ready(2).see(0, 3, 3), "0s stable 3 of 3..3 in 1..3 ebc -14 bound:none");
}

TEST(Decider, UpRateCountsZeroPodsAsOne) {
  DeciderSpec spec = target(10);
  spec.max_scale_up_rate = 10;

  EXPECT_EQ(Timeline(spec, 0).ready(0).see(0, 1000, 1000),
            "0s panic 10 of 100..100 in 0..10 ebc -1211 bound:scale_up_rate");
}

TEST(Decider, ActivationScaleWakesWithSeveralPods) {
  DeciderSpec spec;
  spec.activation_scale = 3;

  EXPECT_EQ(Timeline(spec, 0).ready(0).see(0, 1, 1),
            "0s stable 3 of 1..1 in 0..1000 ebc -212 bound:activation_scale");
  EXPECT_EQ(Timeline(spec, 0).ready(0).see(0, 0, 0),
            "0s stable 0 of 0..0 in 0..1000 ebc -211 bound:none");
}

TEST(Decider, ActivationScaleIsNotHeldBackByTheUpRate) {
  DeciderSpec spec = target(10);
  spec.activation_scale = 50;
  spec.max_scale_up_rate = 10;

  EXPECT_EQ(Timeline(spec, 0).ready(0).see(0, 15, 15),
            "0s panic 50 of 2..2 in 0..10 ebc -226 bound:activation_scale");
}

TEST(Decider, ActivationScaleOfOneDoesNothing) {
  DeciderSpec spec;
  spec.activation_scale = 1;

  EXPECT_EQ(Timeline{spec}.see(0, 0.1, 0.1), "0s stable 1 of 1..1 in 0..1000 ebc -112 bound:none");
}

TEST(Decider, ScaleDownDelayKeepsTheHighestRecentDecision) {
  DeciderSpec spec = target(10);
  spec.scale_down_delay = seconds{300};
  Timeline line{spec};

  EXPECT_EQ(line.ready(4).see(2, 40, 40), "2s stable 4 of 4..4 in 2..4000 ebc 149 bound:none");
  EXPECT_EQ(line.ready(1).see(300, 0, 0),
            "300s stable 4 of 0..0 in 0..1000 ebc -111 bound:scale_down_delay");
  EXPECT_EQ(line.see(302, 0, 0), "302s stable 0 of 0..0 in 0..1000 ebc -111 bound:none");
}

TEST(Decider, ScaleDownDelayEndsWithReachability) {
  DeciderSpec spec = target(10);
  spec.scale_down_delay = seconds{300};
  Timeline line{spec};
  line.ready(4).see(2, 40, 40);

  spec.reachable = false;

  EXPECT_EQ(line.spec(spec).see(4, 10, 10), "4s stable 1 of 1..1 in 0..4000 ebc 179 bound:none");
}

TEST(Decider, ChangedDelayDoesNotReachAnExistingDecider) {
  DeciderSpec spec = target(10);
  Timeline line{spec};
  line.ready(4).see(2, 40, 40);

  spec.scale_down_delay = seconds{300};

  EXPECT_EQ(line.spec(spec).see(4, 20, 20), "4s stable 2 of 2..2 in 2..4000 ebc 169 bound:none");
}

TEST(Decider, ChangedDelayKeepsItsOldLength) {
  DeciderSpec spec = target(10);
  spec.scale_down_delay = seconds{300};
  Timeline line{spec};
  line.ready(4).see(2, 40, 40);

  spec.scale_down_delay = seconds{10};

  EXPECT_EQ(line.spec(spec).ready(1).see(300, 0, 0),
            "300s stable 4 of 0..0 in 0..1000 ebc -111 bound:scale_down_delay");
  EXPECT_EQ(line.see(302, 0, 0), "302s stable 0 of 0..0 in 0..1000 ebc -111 bound:none");
}

TEST(Decider, WithoutDelayALowerNumberCountsAtOnce) {
  Timeline line{target(10)};
  line.ready(4).see(2, 40, 40);

  EXPECT_EQ(line.see(2.5, 30, 30), "2.5s stable 3 of 3..3 in 2..4000 ebc 159 bound:none");
}

TEST(Decider, CreatedWithSeveralPodsHoldsThem) {
  EXPECT_EQ(Timeline({}, 2).ready(2).see(0, 0, 0),
            "0s panic 2 of 0..0 in 1..2000 ebc -11 bound:panic_hold");
  EXPECT_EQ(Timeline({}, 1).ready(1).see(0, 0, 0),
            "0s stable 0 of 0..0 in 0..1000 ebc -111 bound:none");
  EXPECT_EQ(Timeline({}, 0).ready(0).see(0, 0, 0),
            "0s stable 0 of 0..0 in 0..1000 ebc -211 bound:none");
}

TEST(Decider, CreatedWithoutACountStartsCalmAndHoldsNothing) {
  Timeline line{target(10), 0};

  EXPECT_EQ(line.ready(4).see(0, 0, 0),
            "0s stable 2 of 0..0 in 2..4000 ebc 189 "
            "bound:scale_down_rate");
}

TEST(Decider, PanicEndsWhileLoadGrowsByAPodEachTick) {
  Timeline line{target(10)};
  EXPECT_EQ(line.ready(2).see(0, 40, 40), "0s panic 4 of 4..4 in 1..2000 ebc -51 bound:none");

  std::string text;
  for (int tick = 1; tick <= 31; ++tick) {
    text = line.ready(4 + tick).see(2.0 * tick, 10.0 * (5 + tick), 10.0 * (5 + tick));
    if (tick == 30) {
      EXPECT_EQ(text, "60s panic 35 of 35..35 in 17..34000 ebc 2839 bound:none");
    }
  }

  EXPECT_EQ(text, "62s stable 36 of 36..36 in 17..35000 ebc 2929 bound:none");
}

TEST(Decider, PodsThatDoNotExistCountAsNoneAndGiveADecision) {
  EXPECT_EQ(Timeline{}.ready(0).see(0, 5, 5), "0s stable 1 of 1..1 in 0..1000 ebc -216 bound:none");
}

TEST(Decider, TargetThatIsNotANumberGivesNoDecision) {
  Timeline line{target(std::numeric_limits<double>::quiet_NaN())};

  EXPECT_EQ(line.see(0, 5, 5), "0s stable invalid 0 ebc 0");
}

TEST(Decider, WithoutDataThereIsNoDecision) {
  EXPECT_EQ(Timeline{}.see(0, 5, 5, false), "0s stable invalid 0 ebc 0");
}

TEST(Decider, WithoutAPodCountThereIsNoDecision) {
  Timeline line;
  line.lose_count();

  EXPECT_EQ(line.see(0, 5, 5), "0s stable invalid 0 ebc 0");
}

TEST(Decider, BurstCapacityIsFlooredOffOrUnlimited) {
  DeciderSpec spec;
  spec.total_value = 1;
  spec.target_burst_capacity = 0.5;
  EXPECT_EQ(Timeline{spec}.see(0, 0.5, 0.5), "0s stable 1 of 1..1 in 0..1000 ebc 0 bound:none");
  EXPECT_EQ(Timeline{spec}.see(0, 0.6, 0.6), "0s stable 1 of 1..1 in 0..1000 ebc -1 bound:none");
  spec.target_burst_capacity = 0;
  EXPECT_EQ(Timeline{spec}.see(0, 9, 9), "0s stable 1 of 1..1 in 0..1000 ebc 0 bound:none");
  spec.target_burst_capacity = -1;
  EXPECT_EQ(Timeline{spec}.see(0, 9, 9), "0s stable 1 of 1..1 in 0..1000 ebc -1 bound:none");
}

TEST(Decider, PanicThresholdOfZeroNeverComesDown) {
  DeciderSpec spec = target(10);
  spec.panic_threshold = 0;
  Timeline line{spec};
  line.ready(4).see(0, 40, 40);

  EXPECT_EQ(line.see(600, 0, 0), "600s panic 4 of 0..0 in 2..4000 ebc 189 bound:panic_hold");
}

TEST(Decider, KeepsTheRoundingOfBinaryDoubles) {
  EXPECT_EQ(Timeline{target(0.7)}.ready(4).see(0, 4.2, 4.2),
            "0s stable 7 of 7..7 in 2..4000 ebc 184 bound:none");
}

TEST(Decider, AbsurdLoadSaturates) {
  EXPECT_EQ(Timeline{target(0.01)}.ready(2000000000).see(0, 1e300, 1e300),
            "0s panic 2147483647 of 2147483647..2147483647 in 1000000000..2147483647 "
            "ebc -2147483648 bound:none");
}

TEST(DeciderStatus, StartsUnknownWithAGuessOfTheBurstCapacity) {
  DeciderSpec spec;
  spec.initial_scale = 2;
  spec.total_value = 25;
  spec.target_burst_capacity = 42;
  const DeciderStatus status{spec};

  EXPECT_EQ(status.desired(), -1);
  EXPECT_EQ(status.excess_burst_capacity(), 8);
}

TEST(DeciderStatus, FirstGuessIsTruncatedNotFloored) {
  DeciderSpec spec;
  spec.initial_scale = 1;
  spec.total_value = 1;
  spec.target_burst_capacity = 1.5;

  EXPECT_EQ(DeciderStatus{spec}.excess_burst_capacity(), 0);
}

Decision answer(std::int32_t desired, std::int32_t excess) {
  Decision decision;
  decision.valid = true;
  decision.desired = desired;
  decision.excess_burst_capacity = excess;
  return decision;
}

TEST(DeciderStatus, InformsWhenTheNumberOrTheSignChanges) {
  DeciderStatus status{DeciderSpec{}};

  EXPECT_TRUE(status.take(answer(1, -5)));
  EXPECT_FALSE(status.take(answer(1, -9)));
  EXPECT_TRUE(status.take(answer(1, 0)));
  EXPECT_TRUE(status.take(answer(2, 3)));
  EXPECT_FALSE(status.take(Decision{}));
  EXPECT_EQ(status.desired(), 2);
}

TEST(DeciderStatus, OnlyRequestsAtExactlyZeroPoke) {
  DeciderStatus status{DeciderSpec{}};
  EXPECT_FALSE(status.pokes(1)) << "unknown is not zero";

  status.take(answer(0, 0));
  EXPECT_TRUE(status.pokes(1));
  EXPECT_FALSE(status.pokes(0));

  status.take(answer(1, 0));
  EXPECT_FALSE(status.pokes(1));
}

TEST(BoundedScale, AppliesTheMinimumFirst) {
  EXPECT_EQ(bounded_scale(1, {.min = 10, .max = 5}), 10);
  EXPECT_EQ(bounded_scale(12, {.min = 10, .max = 5}), 5);
  EXPECT_EQ(bounded_scale(12, {.min = 0, .max = 0}), 12);
}

TEST(ActivatorCount, BurstCapacityThatIsNotANumberAddsNothing) {
  EXPECT_EQ(activator_count(5, 100, std::numeric_limits<double>::quiet_NaN(), 100), 5);
}

TEST(ActivatorCount, IsAtLeastTwoAndRoundsUp) {
  EXPECT_EQ(activator_count(0, 100, 200, 100), 2);
  EXPECT_EQ(activator_count(1, 100, 200, 100), 3);
  EXPECT_EQ(activator_count(15, 100, 200, 100), 17);
  EXPECT_EQ(activator_count(5, 100, -1, 100), 5);
  EXPECT_EQ(activator_count(500, 100, 0, 100), 2);
}

}  // namespace
}  // namespace sluice::autoscaler
