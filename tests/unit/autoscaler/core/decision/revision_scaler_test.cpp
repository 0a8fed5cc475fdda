#include "autoscaler/core/decision/revision_scaler.h"

#include "tests/unit/autoscaler/core/fixtures.h"
#include "tests/unit/autoscaler/core/revision_world.h"

#include <gtest/gtest.h>

#include <tuple>

namespace sluice::autoscaler {
namespace {

using std::chrono::seconds;

// As `sluice up -- COMMAND` makes it: asleep at first, ten requests at a time, seven aimed at.
ScalingSpec command_form() {
  ScalingSpec spec;
  spec.decider.initial_scale = 0;
  spec.decider.target_value = 7;
  spec.decider.total_value = 10;
  spec.bounds.max = 8;
  return spec;
}

// As a file without annotations makes it: one replica at first.
ScalingSpec file_form() {
  ScalingSpec spec = command_form();
  spec.decider.initial_scale = 1;
  return spec;
}

TEST(RevisionScaler, GoesFromZeroToManyAndBackToZero) {
  RevisionWorld world{command_form()};

  world.until(10);
  EXPECT_EQ(world.lines(), "2s inactive want 0 ready 0: no requests yet\n");
  world.load(3).until(30);
  EXPECT_EQ(world.lines(),
            "10s activating want 1 ready 0: ceil(1.0 / 7.0) = 1\n"
            "12s active want 1 ready 1: ceil(2.0 / 7.0) = 1\n");
  world.load(60).until(60);
  EXPECT_EQ(world.lines(),
            "32s active want 4 ready 1: panic: ceil(22.0 / 7.0) = 4, since 4 / 1 >= 2\n"
            "34s active want 6 ready 4: panic: ceil(41.0 / 7.0) = 6\n"
            "36s active want 8 ready 6: panic: ceil(60.0 / 7.0) = 9; at most max-scale 8\n");
  world.load(0).until(300);
  EXPECT_EQ(world.lines(),
            "94s active want 4 ready 8: ceil(26.0 / 7.0) = 4\n"
            "100s active want 3 ready 4: ceil(20.0 / 7.0) = 3\n"
            "106s active want 2 ready 3: ceil(14.0 / 7.0) = 2\n"
            "114s active want 1 ready 2: ceil(6.0 / 7.0) = 1\n"
            "120s inactive want 0 ready 1: no requests for 60 s\n");
}

TEST(RevisionScaler, WakesAgainAfterALongSleep) {
  RevisionWorld world{command_form()};
  world.load(3).until(5).load(0).until(1001);
  world.lines();

  world.load(20).until(1010);

  EXPECT_EQ(world.lines(),
            "1001s activating want 1 ready 0: ceil(1.0 / 7.0) = 1\n"
            "1002s active want 2 ready 1: panic: ceil(10.0 / 7.0) = 2, since 2 / 1 >= 2\n"
            "1004s active want 3 ready 2: panic: ceil(15.0 / 7.0) = 3\n");
}

TEST(RevisionScaler, ShortVisitKeepsTheReplicaForAStableWindow) {
  ScalingSpec spec = command_form();
  spec.decider.stable_window = seconds{6};
  spec.decider.panic_window = seconds{1};
  RevisionWorld world{spec, 10};

  world.load(1).until(1).load(0).until(60);

  EXPECT_EQ(
      world.lines(),
      "0s activating want 1 ready 0: ceil(1.0 / 7.0) = 1\n"
      "10s active want 1 ready 1: no requests for 6 s; 1 kept for 00:06 by the stable window\n"
      "16s inactive want 0 ready 1: no requests for 6 s\n");
}

TEST(RevisionScaler, FirstReplicaOfAFileIsKeptForAStableWindow) {
  RevisionWorld world{file_form()};

  world.until(120);

  EXPECT_EQ(world.lines(),
            "2s active want 1 ready 1: no requests yet; 1 kept for 01:00 by the stable window\n"
            "62s inactive want 0 ready 1: no requests yet\n");
}

TEST(RevisionScaler, BrokenRevisionReturnsToZeroAfterItsClientsLeft) {
  RevisionWorld world{command_form()};

  world.break_starts().load(1).until(30).load(0).until(900);

  EXPECT_EQ(world.lines(),
            "0s activating want 1 ready 0: ceil(1.0 / 7.0) = 1\n"
            "632s inactive want 0 ready 0: no requests for 60 s\n");
}

TEST(RevisionScaler, HeldRequestsKeepABrokenRevisionTrying) {
  RevisionWorld world{command_form()};

  world.break_starts().load(1).until(2000);

  EXPECT_EQ(world.scaler().want(), 1);
}

TEST(RevisionScaler, ReadyReplicasWithoutStatsKeepTheirNumber) {
  RevisionWorld world{command_form()};
  world.load(20).until(30);
  world.lines();

  world.mute(true).until(600);

  EXPECT_EQ(world.lines(), "");
  EXPECT_TRUE(world.scaler().last().metrics_missing);
  EXPECT_EQ(why(world.scaler().last()), "replicas report no metrics; 3 kept");
}

TEST(RevisionScaler, SleepByHandLastsUntilTheNextRequest) {
  RevisionWorld world{command_form()};
  world.load(20).until(30);
  world.lines();

  world.scaler().sleep(world.now());
  world.load(0).until(60);
  EXPECT_EQ(world.lines(), "32s inactive want 0 ready 3: put to sleep by hand\n");

  world.load(1).until(70);
  EXPECT_EQ(world.lines(),
            "60s activating want 1 ready 0: ceil(1.0 / 7.0) = 1\n"
            "62s active want 1 ready 1: ceil(0.7 / 7.0) = 1\n");
}

TEST(RevisionScaler, RequestsInFlightDoNotEndTheSleep) {
  RevisionScaler scaler{{.scaling = command_form(), .revision = "app", .replicas = 2}, 2, at(0)};
  scaler.sleep(at(1));

  EXPECT_FALSE(scaler.push({.average_concurrency = 2, .request_count = 0}, at(2)));
  EXPECT_EQ(scaler.evaluate({.ready = 2}, at(2)).want, 0);

  EXPECT_TRUE(scaler.push({.average_concurrency = 2, .request_count = 1}, at(3)));
  EXPECT_EQ(scaler.evaluate({.trigger = Trigger::poke, .ready = 0}, at(3)).want, 1);
}

TEST(RevisionScaler, RequestsOfTheSecondBeforeAnOrderToSleepDoNotEndTheSleep) {
  RevisionScaler scaler{{.scaling = command_form(), .revision = "app", .replicas = 2}, 2, at(0)};
  scaler.sleep(at(1) + std::chrono::milliseconds{300});

  EXPECT_FALSE(scaler.push({.average_concurrency = 0.1, .request_count = 12}, at(2)));
  EXPECT_EQ(scaler.evaluate({.ready = 2}, at(2)).want, 0);

  EXPECT_TRUE(scaler.push({.average_concurrency = 0.1, .request_count = 12}, at(3)));
  EXPECT_EQ(scaler.evaluate({.trigger = Trigger::poke, .ready = 0}, at(3)).want, 1);
}

TEST(RevisionScaler, AFirstRequestEndsASleepInTheSecondOfItsOrder) {
  RevisionScaler scaler{{.scaling = command_form(), .revision = "app", .replicas = 0}, 0, at(0)};
  scaler.sleep(at(1) + std::chrono::milliseconds{300});

  // Stamped with the whole second that the order came in too.
  EXPECT_TRUE(scaler.push({.average_concurrency = 1, .request_count = 1}, at(1)));
  EXPECT_EQ(scaler.evaluate({.trigger = Trigger::poke, .ready = 0}, at(2)).want, 1);
}

TEST(RevisionScaler, WhereItIsSaidWhenTheNewestRequestBeganThatAloneEndsASleep) {
  RevisionScaler scaler{{.scaling = command_form(), .revision = "app", .replicas = 2}, 2, at(0)};
  const TimePoint ordered = at(1) + std::chrono::milliseconds{300};
  scaler.sleep(ordered);

  // As the first of an idle revision would be told, and long after the order.
  const Stat first{.average_concurrency = 1, .request_count = 1};
  EXPECT_FALSE(scaler.push(first, at(2), ordered - std::chrono::milliseconds{1}));
  EXPECT_FALSE(scaler.push({.average_concurrency = 3, .request_count = 7}, at(9), at(1)));
  EXPECT_EQ(scaler.evaluate({.ready = 2}, at(9)).want, 0);

  // Among older ones, and told a second time because the first report was lost.
  EXPECT_TRUE(scaler.push({.average_concurrency = 3.4, .request_count = 0}, at(2), ordered));
  EXPECT_EQ(scaler.evaluate({.trigger = Trigger::poke, .ready = 0}, at(9)).want, 1);
}

TEST(RevisionScaler, ARequestAfterASmallStepBackOfTheClockEndsTheSleep) {
  RevisionScaler scaler{{.scaling = command_form(), .revision = "app", .replicas = 1}, 1, at(0)};
  scaler.sleep(at(3));

  scaler.note_time(at(2));
  EXPECT_TRUE(scaler.push({.average_concurrency = 1, .request_count = 1}, at(2), at(2)));
}

TEST(RevisionScaler, AClockThatStepsBackLeavesNoOrderToSleepInTheFuture) {
  RevisionScaler scaler{{.scaling = command_form(), .revision = "app", .replicas = 1}, 1, at(0)};
  (void)scaler.evaluate({.ready = 1}, at(3600));
  scaler.sleep(at(3600));
  (void)scaler.evaluate({.ready = 1}, at(10));

  EXPECT_TRUE(scaler.push({.average_concurrency = 3.4, .request_count = 2}, at(12), at(11)));
}

TEST(RevisionScaler, WakeByHandHoldsOneReplicaForAStableWindow) {
  RevisionWorld world{command_form()};
  world.until(10);
  world.lines();

  world.scaler().wake(world.now());
  world.until(200);

  EXPECT_EQ(world.lines(),
            "12s activating want 1 ready 0: woken by hand\n"
            "14s active want 1 ready 1: woken by hand; 1 kept for 01:00 by the stable window\n"
            "74s inactive want 0 ready 1: no requests yet\n");
}

TEST(RevisionScaler, ANewRevisionThatTakesOverIsNotWokenByHand) {
  RevisionWorld world{command_form()};
  world.until(10);
  world.lines();

  world.scaler().wake(world.now(), true);
  world.until(13);

  EXPECT_EQ(world.lines(), "12s activating want 1 ready 0: started as a new revision\n");
}

TEST(RevisionScaler, LiveBoundsEndWithTheNextUpdate) {
  RevisionWorld world{command_form()};
  world.until(10);
  world.lines();

  world.scaler().set_bounds(2, std::nullopt);
  world.until(20);
  EXPECT_EQ(world.lines(),
            "12s activating want 2 ready 0: no data; at least min-scale 2\n"
            "14s active want 2 ready 2: no requests yet; at least min-scale 2\n");

  world.scaler().set_bounds(std::nullopt, 1);
  EXPECT_EQ(world.scaler().spec().bounds, (Bounds{.min = 2, .max = 1}));

  world.scaler().update(command_form(), world.now());
  EXPECT_EQ(world.scaler().spec().bounds, (Bounds{.min = 0, .max = 8}));
}

TEST(RevisionScaler, UpdateChangesTheTargetAtOnce) {
  RevisionWorld world{command_form()};
  world.load(20).until(200);
  world.lines();

  ScalingSpec spec = command_form();
  spec.decider.target_value = 20;
  world.scaler().update(spec, world.now());
  world.until(204);

  EXPECT_EQ(world.lines(), "202s active want 1 ready 3: ceil(20.0 / 20.0) = 1\n");
}

TEST(RevisionScaler, WithoutScrapeTargetNoDataIsZero) {
  ScalingSpec spec = file_form();
  spec.decider.target_burst_capacity = -1;
  spec.decider.has_scrape_target = false;
  RevisionScaler scaler{{.scaling = spec, .revision = "app", .replicas = 1}, 1, at(0)};

  const DecisionRecord record = scaler.evaluate({.ready = 1}, at(2)).record;

  EXPECT_TRUE(record.valid);
  EXPECT_EQ(record.desired, 0);
  EXPECT_EQ(record.excess_burst_capacity, -1);
}

TEST(RevisionScaler, CreatedOverSeveralReadyReplicasHoldsThem) {
  RevisionScaler scaler{{.scaling = file_form(), .revision = "app", .replicas = 4}, 4, at(0)};
  scaler.scraped({}, at(1));

  const ScaleState state = scaler.evaluate({.ready = 4}, at(2));

  EXPECT_EQ(state.want, 4);
  EXPECT_EQ(why(state.record), "held at 4 by panic for 00:02");
}

TEST(RevisionScaler, KeepsRunningReplicasUntilTheirLoadIsMeasured) {
  RevisionScaler scaler{{.scaling = command_form(), .revision = "app", .replicas = 3}, 0, at(0)};

  EXPECT_EQ(scaler.evaluate({.ready = 0}, at(2)).want, 3);
  scaler.scraped({}, at(3));
  const ScaleState state = scaler.evaluate({.ready = 1}, at(4));

  EXPECT_EQ(state.want, 1);
  EXPECT_EQ(state.activity, Activity::active);
  EXPECT_EQ(state.record.bound_by, Bound::stable_window);
}

TEST(RevisionScaler, RecordCarriesTheNumbersOfTheDecision) {
  RevisionScaler scaler{{.scaling = command_form(), .revision = "app", .replicas = 1}, 1, at(0)};
  EXPECT_FALSE(scaler.push({.average_concurrency = 46, .request_count = 300}, at(1)));

  const DecisionRecord record = scaler.evaluate({.ready = 1}, at(2)).record;

  EXPECT_EQ(record.revision, "app");
  EXPECT_EQ(record.time, at(2));
  EXPECT_TRUE(record.valid);
  EXPECT_EQ(record.stable, 46);
  EXPECT_EQ(record.panic, 46);
  EXPECT_EQ(record.target, 7);
  EXPECT_EQ(record.total, 10);
  EXPECT_EQ(record.wanted_stable, 7);
  EXPECT_EQ(record.wanted_panic, 7);
  EXPECT_EQ(record.up_limit, 1000);
  EXPECT_EQ(record.down_limit, 0);
  EXPECT_EQ(record.mode, Mode::panic);
  EXPECT_EQ(record.desired, 7);
  EXPECT_EQ(record.bounded, 7);
  EXPECT_EQ(record.granted, 7);
  EXPECT_EQ(record.bound_by, Bound::none);
  EXPECT_EQ(record.excess_burst_capacity, -247);
  EXPECT_EQ(record.route_mode, RouteMode::proxy);
  EXPECT_EQ(record.panic_until, at(62));
  EXPECT_EQ(why(record), "panic: ceil(46.0 / 7.0) = 7, since 7 / 1 >= 2");
}

TEST(RevisionScaler, MaximumBoundsTheDecision) {
  RevisionScaler scaler{{.scaling = command_form(), .revision = "app", .replicas = 1}, 1, at(0)};
  std::ignore = scaler.push({.average_concurrency = 84, .request_count = 300}, at(1));

  const DecisionRecord record = scaler.evaluate({.ready = 1}, at(2)).record;

  EXPECT_EQ(record.desired, 12);
  EXPECT_EQ(record.bounded, 8);
  EXPECT_EQ(record.bound_by, Bound::max_scale);
}

// An idle revision with one replica, active since second 2 and without load since second 4.
RevisionScaler idle_one(const ScalingSpec& spec, const ScaleInputs& inputs, std::int64_t until) {
  RevisionScaler scaler{{.scaling = spec, .revision = "app", .replicas = 1}, 1, at(0)};
  std::ignore = scaler.push({.average_concurrency = 1, .request_count = 1}, at(2));
  for (std::int64_t second = 2; second <= until; second += 2) {
    if (second > 2) scaler.scraped({}, at(second));
    std::ignore = scaler.evaluate(inputs, at(second));
  }
  return scaler;
}

TEST(RevisionScaler, WithoutLongProxiedTrafficTheGracePeriodCounts) {
  const ScaleInputs inputs{.ready = 1, .proxy_for = seconds{10}};
  RevisionScaler scaler = idle_one(command_form(), inputs, 64);

  EXPECT_EQ(scaler.want(), 1);
  EXPECT_EQ(scaler.activity(), Activity::inactive);
  EXPECT_EQ(scaler.last().bound_by, Bound::grace);

  EXPECT_EQ(idle_one(command_form(), {.ready = 1, .proxy_for = seconds{30}}, 64).want(), 0);
}

TEST(RevisionScaler, RetentionKeepsTheLastReplicaLonger) {
  ScalingSpec spec = command_form();
  spec.zero.retention = seconds{100};

  EXPECT_EQ(idle_one(spec, {.ready = 1}, 160).want(), 1);
  EXPECT_EQ(idle_one(spec, {.ready = 1}, 164).want(), 0);
}

TEST(RevisionScaler, FailedProbeKeepsTheLastReplica) {
  EXPECT_EQ(idle_one(command_form(), {.ready = 1, .probe_ok = false}, 600).want(), 1);
}

// Requests of minutes begin none for a whole window, and are there all the same.
TEST(RevisionScaler, ScaledByRateTheLastReplicaStaysWhileRequestsAreInFlight) {
  ScalingSpec spec = command_form();
  spec.decider.metric = ScalingMetric::rps;
  RevisionScaler scaler{{.scaling = spec, .revision = "app", .replicas = 0}, 0, at(0)};
  ASSERT_TRUE(scaler.push({.average_concurrency = 1, .request_count = 1}, at(1)));
  ASSERT_EQ(scaler.evaluate({.trigger = Trigger::poke}, at(1)).want, 1);

  for (std::int64_t second = 2; second <= 300; second += 2) {
    std::ignore = scaler.push({.average_concurrency = 1, .request_count = 0}, at(second));
    ASSERT_EQ(scaler.evaluate({.ready = 1}, at(second)).want, 1) << second;
  }
  EXPECT_EQ(why(scaler.last()), "no requests for 60 s; 1 kept for requests in flight");
  for (std::int64_t second = 302; second <= 420; second += 2) {
    scaler.scraped({}, at(second));
    std::ignore = scaler.evaluate({.ready = 1}, at(second));
  }
  EXPECT_EQ(scaler.want(), 0);
}

TEST(RevisionScaler, ManualOrdersAreChangesToo) {
  RevisionScaler scaler{{.scaling = command_form(), .revision = "app", .replicas = 1}, 1, at(0)};
  scaler.scraped({}, at(1));
  EXPECT_FALSE(scaler.evaluate({.ready = 1}, at(2)).changed && scaler.want() == 0);

  scaler.sleep(at(3));
  EXPECT_TRUE(scaler.evaluate({.ready = 1}, at(3)).changed);
  EXPECT_FALSE(scaler.evaluate({.ready = 0}, at(5)).changed);
  scaler.wake(at(6));
  EXPECT_TRUE(scaler.evaluate({.ready = 0}, at(6)).changed);
}

TEST(RevisionScaler, RequestsAProbeOfTheActivatorBeforeTheLastReplicaIsRemoved) {
  RevisionScaler scaler = idle_one(command_form(), {.ready = 1, .probe_ok = std::nullopt}, 600);
  const ScaleState waits = scaler.evaluate({.ready = 1, .probe_ok = std::nullopt}, at(602));
  EXPECT_TRUE(waits.probe);
  EXPECT_EQ(waits.want, 1);
  EXPECT_EQ(why(waits.record), "no requests for 60 s; 1 kept until the activators answer");

  const ScaleState refused = scaler.evaluate({.ready = 1, .probe_ok = false}, at(602));
  EXPECT_TRUE(refused.probe_later);
  EXPECT_EQ(refused.want, 1);

  EXPECT_EQ(scaler.evaluate({.ready = 1, .probe_ok = true}, at(603)).want, 0);
}

TEST(RevisionScaler, ServesDirectlyWithBurstCapacityToSpare) {
  ScalingSpec spec = command_form();
  spec.decider.target_burst_capacity = 0;
  RevisionScaler scaler{{.scaling = spec, .revision = "app", .replicas = 1}, 1, at(0)};
  std::ignore = scaler.push({.average_concurrency = 1, .request_count = 1}, at(2));

  EXPECT_EQ(scaler.evaluate({.ready = 1}, at(2)).route_mode, RouteMode::serve);
}

// Goal: whatever the load does, with requests in flight zero is never wanted once the poke was
// recorded, and an idle revision ends at zero. Method: random load for ten minutes, checked every
// second; then silence for the window and its ticks.
TEST(RevisionScaler, IsNeverAtZeroUnderLoadAndAlwaysReachesItAfterwards) {
  for (std::uint32_t seed = 1; seed <= 200; ++seed) {
    std::uint32_t state = seed;
    const auto next = [&state] { return state = state * 1664525U + 1013904223U, state >> 16; };
    RevisionWorld world{command_form(), next() % 20};
    double load = 0;
    for (std::int64_t second = 1; second <= 600; ++second) {
      if (next() % 25 == 0) load = next() % 3 == 0 ? 0 : next() % 100;
      world.load(load).until(second);
      if (load > 0) {
        ASSERT_GE(world.scaler().want(), 1) << "seed " << seed << " at " << second;
      }
      ASSERT_LE(world.scaler().want(), 8) << "seed " << seed << " at " << second;
    }
    world.load(0).until(800);
    ASSERT_EQ(world.scaler().want(), 0) << "seed " << seed;
  }
}

}  // namespace
}  // namespace sluice::autoscaler
