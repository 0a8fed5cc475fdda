// What a revision does when evaluations pause, when the clock jumps, and when another autoscaler
// governed it before.

#include "autoscaler/core/decision/revision_scaler.h"
#include "tests/unit/autoscaler/core/fixtures.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace sluice::autoscaler {
namespace {

using std::chrono::seconds;

ScalingSpec defaults() {
  ScalingSpec spec;
  spec.decider.target_value = 10;
  return spec;
}

ScalingSpec activators_only() {
  ScalingSpec spec = defaults();
  spec.decider.target_burst_capacity = -1;
  spec.decider.has_scrape_target = false;
  return spec;
}

/// A revision under a constant load, evaluated every 2 s.
class Loaded {
 public:
  Loaded(const ScalingSpec& spec, std::int32_t pods, double load)
      : scaler_({.scaling = spec, .revision = "app", .replicas = pods}, pods, at(0)),
        pods_(pods),
        load_(load) {}

  /// Plays the seconds from..to; a muted one has no stats.
  ScaleState play(std::int64_t from, std::int64_t to, bool muted = false) {
    ScaleState state;
    for (std::int64_t second = from; second <= to; ++second) {
      if (!muted) {
        const Stat stat{.average_concurrency = load_, .request_count = load_};
        (void)scaler_.push(stat, at(second));
      }
      if (second % 2 == 0) state = scaler_.evaluate({.ready = pods_}, at(second));
      if (second % 2 == 0) least_ = std::min(least_, state.want);
    }
    return state;
  }

  RevisionScaler& scaler() { return scaler_; }

  [[nodiscard]] std::int32_t least() const { return least_; }

 private:
  RevisionScaler scaler_;
  std::int32_t pods_;
  double load_;
  std::int32_t least_ = 1'000'000;
};

constexpr std::int64_t kHour = 3600;

TEST(ClockJump, ForwardKeepsTheLastDecisionUntilThereIsData) {
  Loaded app{defaults(), 3, 25};
  EXPECT_EQ(app.play(1, 120).want, 3);

  const ScaleState blind = app.scaler().evaluate({.ready = 3}, at(120 + kHour));

  EXPECT_FALSE(blind.record.valid);
  EXPECT_TRUE(blind.metrics_missing);
  EXPECT_EQ(blind.want, 3);
  EXPECT_EQ(app.play(121 + kHour, 300 + kHour).want, 3);
  EXPECT_EQ(app.least(), 3);
}

TEST(ClockJump, BackKeepsTheLastDecisionAndEmptiesTheWindows) {
  Loaded app{defaults(), 3, 25};
  EXPECT_EQ(app.play(kHour, kHour + 120).want, 3);

  const ScaleState blind = app.scaler().evaluate({.ready = 3}, at(120));

  EXPECT_FALSE(blind.record.valid);
  EXPECT_EQ(blind.want, 3);
  const ScaleState state = app.play(121, 124);
  EXPECT_TRUE(state.record.valid);
  EXPECT_EQ(state.record.stable, 25);
  EXPECT_EQ(app.least(), 3);
}

TEST(ClockJump, WithActivatorsOnlyAnEmptyWindowIsNotZeroAtOnce) {
  for (const std::int64_t jump : {kHour, -kHour}) {
    Loaded app{activators_only(), 3, 25};
    EXPECT_EQ(app.play(2 * kHour, 2 * kHour + 120).want, 3);

    const ScaleState blind = app.scaler().evaluate({.ready = 3}, at(2 * kHour + 120 + jump));

    EXPECT_FALSE(blind.record.valid) << jump;
    EXPECT_EQ(app.play(2 * kHour + 121 + jump, 2 * kHour + 300 + jump).want, 3) << jump;
    EXPECT_EQ(app.least(), 3) << jump;
  }
}

TEST(ClockJump, LeavesTheProgressDeadlineOfAStartAlone) {
  RevisionScaler app{{.scaling = defaults(), .revision = "app", .replicas = 0}, 0, at(0)};
  ASSERT_TRUE(app.push({.average_concurrency = 1, .request_count = 1}, at(1)));
  ASSERT_EQ(app.evaluate({.trigger = Trigger::poke}, at(1)).want, 1);

  const ScaleState state = app.evaluate({}, at(3 + kHour));

  EXPECT_EQ(state.want, 1);
  EXPECT_EQ(state.activity, Activity::activating);
}

TEST(ClockJump, BackKeepsPanicForTheRestOfItsStableWindow) {
  Loaded app{defaults(), 1, 50};
  app.play(kHour, kHour + 10);
  ASSERT_EQ(app.scaler().last().mode, Mode::panic);

  app.play(0, 4);

  const DecisionRecord& last = app.scaler().last();
  EXPECT_EQ(last.mode, Mode::panic);
  EXPECT_LE(*last.panic_until, at(4 + 60));
}

TEST(ClockJump, BackKeepsTheScaleDownDelay) {
  ScalingSpec spec = defaults();
  spec.decider.scale_down_delay = seconds{300};
  Loaded app{spec, 3, 25};
  app.play(kHour, kHour + 120);

  RevisionScaler& scaler = app.scaler();
  for (std::int64_t second = 0; second <= 60; second += 2) {
    (void)scaler.push({.average_concurrency = 1, .request_count = 1}, at(second));
    EXPECT_EQ(scaler.evaluate({.ready = 3}, at(second)).want, 3);
  }
  EXPECT_EQ(scaler.last().bound_by, Bound::scale_down_delay);
}

TEST(Standstill, ConstantLoadIsNotLoweredHoweverLongItLasts) {
  for (const Aggregation aggregation : {Aggregation::linear, Aggregation::weighted}) {
    for (const std::int64_t length : {11, 15, 20, 30, 45, 58, 59, 60, 61, 90, 3600}) {
      ScalingSpec spec = defaults();
      spec.decider.aggregation = aggregation;
      Loaded app{spec, 3, 25};
      ASSERT_EQ(app.play(1, 120).want, 3);

      const ScaleState state = app.play(121 + length, 400 + length);

      EXPECT_EQ(app.least(), 3) << length;
      EXPECT_EQ(state.want, 3) << length;
      EXPECT_NE(state.record.bound_by, Bound::stable_window) << length << ": it settles";
    }
  }
}

TEST(Standstill, PanicAndTheDelayKeepTheirAge) {
  Loaded app{defaults(), 1, 50};
  app.play(1, 10);
  ASSERT_EQ(app.scaler().last().mode, Mode::panic);

  app.play(3611, 3620);

  EXPECT_EQ(app.scaler().last().mode, Mode::panic);
  EXPECT_EQ(app.least(), 5);
}

TEST(SlowRhythm, IdleRevisionStillReachesZero) {
  for (const std::int64_t step : {3, 9, 11, 15, 30}) {
    RevisionScaler app{{.scaling = defaults(), .revision = "app", .replicas = 1}, 1, at(0)};
    for (std::int64_t second = 1; second <= 1800; ++second) {
      if (app.want() > 0) app.scraped({}, at(second));
      if (second % step == 0) (void)app.evaluate({.ready = app.want()}, at(second));
    }
    EXPECT_EQ(app.want(), 0) << step;
  }
}

TEST(SlowRhythm, PodsThatNeverBecomeReadyAreStillGivenUp) {
  RevisionScaler app{{.scaling = defaults(), .revision = "app", .replicas = 1}, 0, at(0)};
  for (std::int64_t second = 15; second <= 3600; second += 15) (void)app.evaluate({}, at(second));
  EXPECT_EQ(app.want(), 0);
}

TEST(Silence, LastPodStaysWhileItSendsNoStatsEvenIfItWasIdleBefore) {
  RevisionScaler app{{.scaling = defaults(), .revision = "app", .replicas = 1}, 1, at(0)};
  for (std::int64_t second = 1; second <= 20; ++second) app.scraped({}, at(second));
  (void)app.evaluate({.ready = 1}, at(2));
  for (std::int64_t second = 20; second <= 2 * kHour; second += 2) {
    ASSERT_EQ(app.evaluate({.ready = 1}, at(second)).want, 1) << second;
  }
  EXPECT_EQ(app.last().bound_by, Bound::no_data);
}

TEST(Silence, WithoutAnActivatorTheProxiedPartIsCountedToo) {
  RevisionScaler app{{.scaling = defaults(), .revision = "app", .replicas = 5}, 5, at(0)};
  for (std::int64_t second = 1; second <= 400; ++second) {
    // Until the link to the activators breaks, they report the same load.
    const bool connected = second < 200;
    if (connected) {
      (void)app.push({.average_concurrency = 45, .request_count = 45}, at(second));
    }
    app.scraped({45, 45, 45, 45}, at(second));
    if (second % 2 == 1) continue;
    const ScaleInputs inputs{.ready = 5, .activator_connected = connected};
    ASSERT_EQ(app.evaluate(inputs, at(second)).want, 5) << second;
  }
}

TEST(Silence, FlappingActivatorDoesNotKeepABrokenRevisionFromZero) {
  RevisionScaler app{{.scaling = defaults(), .revision = "app", .replicas = 0}, 0, at(0)};
  ASSERT_TRUE(app.push({.average_concurrency = 1, .request_count = 1}, at(1)));
  for (std::int64_t second = 2; second <= kHour; second += 2) {
    (void)app.evaluate({.activator_connected = second % 8 != 0}, at(second));
  }
  EXPECT_EQ(app.want(), 0);
}

TEST(ActivatorsOnly, EmptyWindowIsZeroOnlyWhileAnActivatorIsConnected) {
  RevisionScaler app{{.scaling = activators_only(), .revision = "app", .replicas = 1}, 1, at(0)};

  for (std::int64_t second = 2; second <= 12; second += 2) {
    EXPECT_FALSE(app.evaluate({.ready = 1, .activator_connected = false}, at(second)).record.valid);
  }
  EXPECT_FALSE(app.evaluate({.ready = 1}, at(14)).record.valid) << "it has had no time to speak";
  const ScaleState heard = app.evaluate({.ready = 1}, at(24));
  EXPECT_TRUE(heard.record.valid);
  EXPECT_EQ(heard.record.desired, 0);
}

TEST(ActivatorsGone, NoReplicaIsRemovedWhileNoActivatorCanReportWaitingRequests) {
  // Pods that never become ready, and an activator that was heard once and is gone.
  RevisionScaler app{{.scaling = defaults(), .revision = "app", .replicas = 0}, 0, at(0)};
  ASSERT_TRUE(app.push({.average_concurrency = 1, .request_count = 1}, at(1)));

  for (std::int64_t second = 2; second <= 2 * kHour; second += 2) {
    const ScaleState state = app.evaluate({.activator_connected = false}, at(second));
    ASSERT_EQ(state.want, 1) << second;
    ASSERT_EQ(state.metrics_missing, second > 10) << second;
  }
}

// An activator may hold requests for a revision whose pods answer every scrape and are idle.
TEST(ActivatorsGone, IdlePodsThatAreScrapedAreNotScaledToZero) {
  RevisionScaler app{{.scaling = defaults(), .revision = "app", .replicas = 1}, 1, at(0)};

  for (std::int64_t second = 1; second <= 400; ++second) {
    app.scraped({}, at(second));
    if (second % 2 == 1) continue;
    const ScaleState state = app.evaluate({.ready = 1, .activator_connected = false}, at(second));
    ASSERT_EQ(state.want, 1) << second;
  }
  EXPECT_EQ(app.last().bound_by, Bound::no_data);

  for (std::int64_t second = 401; second <= 500; ++second) {
    app.scraped({}, at(second));
    if (second % 2 == 0) (void)app.evaluate({.ready = 1}, at(second));
  }
  EXPECT_EQ(app.want(), 0) << "an activator is connected again and holds nothing";
}

TEST(ActivatorsGone, ReconnectedActivatorHasTenSecondsToReportItsRequests) {
  RevisionScaler app{{.scaling = defaults(), .revision = "app", .replicas = 0}, 0, at(0)};
  ASSERT_TRUE(app.push({.average_concurrency = 1, .request_count = 1}, at(1)));
  (void)app.evaluate({}, at(2));
  for (std::int64_t second = 4; second <= kHour; second += 2) {
    (void)app.evaluate({.activator_connected = false}, at(second));
  }

  for (std::int64_t second = kHour + 2; second <= kHour + 10; second += 2) {
    EXPECT_EQ(app.evaluate({}, at(second)).want, 1) << second;
  }
  for (std::int64_t second = kHour + 12; second <= kHour + 100; second += 2) {
    (void)app.evaluate({}, at(second));
  }
  EXPECT_EQ(app.want(), 0);
}

TEST(NewOwner, WritesNothingWithoutData) {
  RevisionScaler app{
      {.scaling = defaults(), .revision = "app", .replicas = 2, .taken_over = true}, 1, at(0)};

  const ScaleState state = app.evaluate({.ready = 1}, at(2));

  EXPECT_EQ(state.record.desired, -1);
  EXPECT_EQ(state.want, 2);
}

TEST(NewOwner, ReplicasAreNotLoweredBeforeAStableWindowOfValidEvaluations) {
  RevisionScaler app{
      {.scaling = defaults(), .revision = "app", .replicas = 5, .taken_over = true}, 1, at(0)};
  // There is no report for half a minute: the window begins with the first valid evaluation.
  EXPECT_EQ(app.evaluate({.ready = 1}, at(30)).want, 5);

  std::vector<std::int64_t> lowered;
  for (std::int64_t second = 32; second <= 100; second += 2) {
    (void)app.push({.average_concurrency = 15, .request_count = 10}, at(second));
    if (app.evaluate({.ready = 5}, at(second)).want < 5) lowered.push_back(second);
    if (second == 40) {
      EXPECT_EQ(app.last().bound_by, Bound::stable_window);
    }
  }

  ASSERT_FALSE(lowered.empty());
  EXPECT_EQ(lowered.front(), 92);
  EXPECT_EQ(app.want(), 2);
}

TEST(NewOwner, IdleRevisionIsHeldToo) {
  RevisionScaler app{
      {.scaling = defaults(), .revision = "app", .replicas = 1, .taken_over = true}, 1, at(0)};

  for (std::int64_t second = 2; second <= 60; second += 2) {
    (void)app.push({}, at(second));
    EXPECT_EQ(app.evaluate({.ready = 1}, at(second)).want, 1);
  }
  for (std::int64_t second = 62; second <= 70; second += 2) {
    (void)app.push({}, at(second));
    (void)app.evaluate({.ready = 1}, at(second));
  }
  EXPECT_EQ(app.want(), 0);
}

TEST(NewOwner, PodsThatNeverBecomeReadyAreGivenUpAtTheirDeadline) {
  RevisionScaler app{
      {.scaling = defaults(), .revision = "app", .replicas = 5, .taken_over = true}, 0, at(0)};
  for (std::int64_t second = 2; second <= 700; second += 2) {
    const ScaleState state = app.evaluate({}, at(second));
    if (second <= 630) {
      ASSERT_EQ(state.want, 5) << second;
    }
  }
  EXPECT_EQ(app.want(), 0);
}

TEST(NewOwner, OneSampleFollowedBySilenceLowersNothing) {
  RevisionScaler app{
      {.scaling = defaults(), .revision = "app", .replicas = 10, .taken_over = true}, 10, at(0)};
  (void)app.push({.average_concurrency = 1, .request_count = 1}, at(1));
  for (std::int64_t second = 2; second <= 600; second += 2) {
    ASSERT_EQ(app.evaluate({.ready = 10}, at(second)).want, 10) << second;
  }
}

TEST(NewOwner, RisesAtOnceAndIsStillBoundByTheMaximum) {
  ScalingSpec spec = defaults();
  spec.bounds.max = 8;
  RevisionScaler app{
      {.scaling = spec, .revision = "app", .replicas = 10, .taken_over = true}, 1, at(0)};
  (void)app.push({.average_concurrency = 5, .request_count = 5}, at(1));
  EXPECT_EQ(app.evaluate({.ready = 1}, at(2)).want, 8);

  RevisionScaler busy{
      {.scaling = spec, .revision = "app", .replicas = 1, .taken_over = true}, 1, at(0)};
  (void)busy.push({.average_concurrency = 75, .request_count = 5}, at(1));
  EXPECT_EQ(busy.evaluate({.ready = 1}, at(2)).want, 8);
}

}  // namespace
}  // namespace sluice::autoscaler
