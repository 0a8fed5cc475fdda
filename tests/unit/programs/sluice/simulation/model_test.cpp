// Goal: the simulated service waits, refuses, starts and sleeps as queueing theory and the rules of
// scaling say. Method: worlds whose answer is known by formula, long enough for the means to
// settle; the arrivals are drawn as those of a load with that seed.
#include <gtest/gtest.h>

#include "load/core/shape.h"
#include "programs/sluice/simulation/loop.h"
#include "programs/sluice/simulation/traffic.h"
#include <chrono>
#include <string>

namespace sluice::simulation {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
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
