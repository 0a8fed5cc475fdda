// Goal: the simulated service waits, refuses, starts and sleeps as queueing theory and the rules of
// scaling say. Method: worlds whose answer is known by formula, long enough for the means to
// settle; the arrivals are drawn as those of a load with that seed.
#include <gtest/gtest.h>

#include "load/core/shape.h"
#include "programs/sluice/simulation/loop.h"
#include "programs/sluice/simulation/traffic.h"
#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace sluice::simulation {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

/// Replicas that start in a second, all stats at once, and a load that is over when the shape is.
World world(const std::string& shape) {
  auto segments = loadgen::parse_shape(shape);
  EXPECT_TRUE(segments) << shape;
  World made;
  made.scaling.decider.initial_scale = 0;
  made.container_concurrency = 1;
  made.queue_depth = 100'000;
  made.start = Times::fixed(seconds{1});
  made.service = Times::fixed(milliseconds{100});
  made.stat_delay = Times::fixed(Duration{0});
  made.length = hours{24 * 365};
  made.quiet = hours{24};
  made.traffic = of_shape(*segments, made.seed);
  return made;
}

// One replica, always.
World one_replica(const std::string& shape) {
  World made = world(shape);
  made.scaling.bounds = {.min = 1, .max = 1};
  made.rest = 1;
  return made;
}

double mean_wait(const Outcome& outcome) {
  return to_seconds(outcome.waits.mean());
}

std::uint64_t ended(const Outcome& outcome) {
  return outcome.answered + outcome.refused + outcome.cut + outcome.left;
}

// Pollaczek and Khinchine: rho s / (2 (1 - rho)) for equal times, twice that for exponential ones.
TEST(Model, OneServerWithEqualTimesHasTheKnownMeanWait) {
  const Outcome outcome = Loop{one_replica("5:12h")}.run();

  EXPECT_EQ(outcome.breach, "");
  EXPECT_NEAR(mean_wait(outcome), 0.050, 0.002);
}

TEST(Model, OneServerWithExponentialTimesHasTheKnownMeanWait) {
  World made = one_replica("5:12h");
  made.service = Times::exponential(milliseconds{100});

  EXPECT_NEAR(mean_wait(Loop{made}.run()), 0.100, 0.005);
}

// Erlang's C formula for four servers that are busy for three quarters of the time: 0.0764 s.
TEST(Model, FourServersHaveTheWaitOfErlang) {
  World made = one_replica("20:12h");
  made.container_concurrency = 4;
  made.service = Times::exponential(milliseconds{150});

  EXPECT_NEAR(mean_wait(Loop{made}.run()), 0.0764, 0.004);
}

TEST(Model, RequestsDoNotWaitForAReplicaWithoutALimit) {
  World made = one_replica("200:1h");
  made.container_concurrency = 0;

  const Outcome outcome = Loop{made}.run();

  EXPECT_GT(outcome.answered, 700'000U);
  EXPECT_EQ(outcome.waits.percentile(99), Duration{0});
}

TEST(Model, TwiceTheCapacityIsAnsweredByHalfAndTheRestIsRefused) {
  World made = one_replica("pause 10s, 20:1000s");
  made.queue_depth = 50;

  const Outcome outcome = Loop{made}.run();

  EXPECT_EQ(outcome.sent, ended(outcome));
  EXPECT_EQ(outcome.left, 0U);
  // Busy from the first request to the last, and the queue is emptied after the load.
  EXPECT_NEAR(static_cast<double>(outcome.answered), 10'050, 10);
  EXPECT_GT(outcome.refused, 9'500U);
  EXPECT_NEAR(to_seconds(outcome.waits.max()), 5.0, 0.2);
}

TEST(Model, ServiceThatSleepsIsStartedByARequestAndSleepsAgain) {
  World made = world("5:30s, pause 5m, 5:30s");
  made.scaling.decider.target_value = 0.7;
  made.scaling.bounds.max = 4;
  made.rest = 0;

  const Outcome outcome = Loop{made}.run();

  EXPECT_EQ(outcome.breach, "");
  EXPECT_EQ(outcome.answered, outcome.sent);
  EXPECT_EQ(outcome.cold_starts, 2U);
  EXPECT_EQ(outcome.sleeps, 2U);
  EXPECT_EQ(outcome.pods_at_end, 0);
  EXPECT_GE(outcome.waits.max(), seconds{1});
  EXPECT_LT(outcome.waits.max(), milliseconds{1'800});
  EXPECT_GT(outcome.pod_seconds, 60);
  EXPECT_LT(outcome.pod_seconds, 4 * to_seconds(outcome.length));
}

TEST(Model, ReplicaSecondsAreThoseOfAReplicaThatAlwaysRuns) {
  const Outcome outcome = Loop{one_replica("1:1h")}.run();

  EXPECT_NEAR(outcome.pod_seconds, to_seconds(outcome.length), 3);
  EXPECT_EQ(outcome.pods_max, 1);
  EXPECT_EQ(outcome.sleeps, 0U);
}

TEST(Model, LoadThatGrowsTenfoldAtOnceIsPanic) {
  World made = world("10:5m, 100:1m");
  made.scaling.decider.target_value = 0.7;
  made.rest = 0;

  const Outcome outcome = Loop{made}.run();

  EXPECT_GE(outcome.panics, 2U);  // at the first request, and at the step
  EXPECT_GT(outcome.pods_max, 10);
}

// What happens, one after the other.
Happenings of(std::vector<Happening> all) {
  return [all = std::move(all), next = std::size_t{0}]() mutable {
    return next < all.size() ? std::optional{all[next++]} : std::nullopt;
  };
}

// Two replicas' worth of load for five minutes, with a target that makes them two.
World two_replicas(std::vector<Happening> happenings) {
  World made = world("10:5m");
  made.container_concurrency = 0;
  made.scaling.decider.target_value = 0.7;
  made.scaling.decider.panic_threshold = 10;
  made.until = minutes{5};
  made.happenings = of(std::move(happenings));
  return made;
}

TEST(Model, ARunEndsWhereItIsToEnd) {
  const Outcome outcome = Loop{two_replicas({})}.run();

  EXPECT_EQ(outcome.length, minutes{5});
  EXPECT_EQ(outcome.pods_at_end, 2);
}

TEST(Model, BoundsAndSettingsThatChangeAreInForceFromThenOn) {
  const Outcome more =
      Loop{two_replicas({{minutes{1}, autoscaler::BoundsInput{.min = 7, .max = {}}}})}.run();
  EXPECT_EQ(more.breach, "");
  EXPECT_EQ(more.pods_at_end, 7);

  World made = two_replicas({});
  NewScaling other{made.scaling};
  other.scaling.decider.target_value = 100;
  made.happenings = of({{minutes{1}, other}});
  EXPECT_EQ(Loop{made}.run().pods_at_end, 1);
}

TEST(Model, ReplicasAreNotStartedBeyondTheRoom) {
  const auto run = [](std::vector<Happening> happenings) {
    happenings.push_back({minutes{1}, autoscaler::BoundsInput{.min = 7, .max = {}}});
    return Loop{two_replicas(std::move(happenings))}.run();
  };

  const Outcome limited = run({{seconds{0}, Room{4}}});
  EXPECT_EQ(limited.breach, "");
  EXPECT_EQ(limited.pods_max, 4);
  EXPECT_EQ(limited.left, 1U) << "what runs when it is over";
  World freed = two_replicas({{seconds{0}, Room{4}},
                              {minutes{1}, autoscaler::BoundsInput{.min = 7, .max = {}}},
                              {minutes{2}, Room{}}});
  EXPECT_EQ(Loop{freed}.run().pods_at_end, 7);
}

TEST(Model, AReplicaThatIsLostIsStartedAgain) {
  const Outcome outcome = Loop{two_replicas({{minutes{2}, LostReplica{}}})}.run();

  EXPECT_EQ(outcome.breach, "");
  EXPECT_EQ(outcome.deaths, 1U);
  EXPECT_EQ(outcome.pods_at_end, 2);
}

TEST(Model, OrdersByHandPutItToSleepAndWakeIt) {
  World made = two_replicas({{minutes{6}, OrderToSleep{}}, {minutes{7}, OrderToWake{}}});
  made.until = minutes{6} + seconds{30};
  EXPECT_EQ(Loop{made}.run().pods_at_end, 0);
  made = two_replicas({{minutes{6}, OrderToSleep{}}, {minutes{7}, OrderToWake{}}});
  made.until = minutes{7} + seconds{30};
  EXPECT_EQ(Loop{made}.run().pods_at_end, 1);
}

TEST(Model, RequestsOfAStandstillComeAtItsEndAndDoNotChangeItsReplicas) {
  const Outcome outcome = Loop{two_replicas({{minutes{2}, Standstill{seconds{100}}}})}.run();

  EXPECT_EQ(outcome.breach, "");
  EXPECT_EQ(outcome.cold_starts, 1U);
  EXPECT_EQ(outcome.sleeps, 0U);
  EXPECT_EQ(outcome.left + outcome.answered, outcome.sent);
  EXPECT_GT(outcome.pods_max, 10) << "a thousand requests at once";
}

TEST(Model, ARunThatBeginsAwakeNeedsNoColdStart) {
  World made = two_replicas({});
  const autoscaler::RevisionScaler before{
      {.scaling = made.scaling, .revision = "app-00001", .replicas = 2, .taken_over = true},
      2,
      made.begin};
  made.from.emplace();
  made.from->replicas = 2;
  made.from->state = before.saved();

  const Outcome outcome = Loop{made}.run();

  EXPECT_EQ(outcome.breach, "");
  EXPECT_EQ(outcome.cold_starts, 0U);
  EXPECT_EQ(outcome.waits.max(), Duration{0});
  EXPECT_NEAR(outcome.pod_seconds, 600, 60);
}

TEST(Model, TheFirstStartsTakeAsLongAsTheyTook) {
  World made = two_replicas({});
  made.scaling.bounds.max = 1;
  made.first_starts = {seconds{9}};

  const Outcome outcome = Loop{made}.run();

  EXPECT_GE(outcome.waits.max(), seconds{9});
  EXPECT_LT(outcome.waits.max(), seconds{10});
}

TEST(Model, OneSeedIsOneRunAndAnotherSeedAnother) {
  const auto run = [](std::uint64_t seed) {
    World made = world("ramp 1-50:5m");
    made.scaling.decider.target_value = 0.7;
    made.rest = 0;
    made.seed = seed;
    made.service = Times::lognormal(milliseconds{100}, 0.5);
    return Loop{made}.run();
  };

  EXPECT_EQ(run(1).pod_seconds, run(1).pod_seconds);
  EXPECT_EQ(mean_wait(run(1)), mean_wait(run(1)));
  EXPECT_NE(mean_wait(run(1)), mean_wait(run(2)));
}

}  // namespace
}  // namespace sluice::simulation
