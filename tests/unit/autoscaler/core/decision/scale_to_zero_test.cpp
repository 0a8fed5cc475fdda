#include "autoscaler/core/decision/scale_to_zero.h"

#include "common/values/duration.h"

#include <gtest/gtest.h>

#include <string>

namespace sluice::autoscaler {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// "want 1, write 1, again in 1s (stable_window)"
std::string plan(const ScalingSpec& spec, const ScalerView& view) {
  const ScalerPlan got = plan_scale(spec, view);
  std::string text = "want " + std::to_string(got.want);
  if (got.write) text += ", write " + std::to_string(*got.write);
  if (got.probe) text += ", probe";
  if (got.probe_later) text += ", probe later";
  if (got.requeue) text += ", again in " + show_duration(*got.requeue);
  if (got.bound_by != Bound::none) text += " (" + std::string{name(got.bound_by)} + ")";
  return text;
}

ScalerView view(Activity activity, Duration since, std::int32_t desired, std::int32_t replicas) {
  return {.desired = desired,
          .replicas = replicas,
          .activity = activity,
          .activity_for = since,
          .initialized = true,
          .route_mode = RouteMode::serve,
          .proxy_for = Duration{0},
          .probe_ok = true};
}

TEST(ScaleToZero, UnknownNumberWritesNothing) {
  EXPECT_EQ(plan({}, view(Activity::active, seconds{5}, -1, 3)), "want -1");
}

TEST(ScaleToZero, ActiveForLessThanTheWindowKeepsOne) {
  EXPECT_EQ(plan({}, view(Activity::active, seconds{59}, 0, 10)),
            "want 1, write 1, again in 1s (stable_window)");
}

TEST(ScaleToZero, ActiveForTheWindowTurnsInactiveFirst) {
  EXPECT_EQ(plan({}, view(Activity::active, seconds{60}, 0, 1)), "want 0");
}

TEST(ScaleToZero, ActiveInProxyIsEvaluatedAgainSoon) {
  ScalerView seen = view(Activity::active, seconds{60}, 0, 1);
  seen.route_mode = RouteMode::proxy;

  EXPECT_EQ(plan({}, seen), "want 0, again in 3s");
}

TEST(ScaleToZero, RequestsAProbeAndContinuesWithItsResult) {
  ScalerView seen = view(Activity::inactive, seconds{31}, 0, 1);
  seen.probe_ok.reset();
  EXPECT_EQ(plan({}, seen), "want 0, probe");
  seen.probe_ok = false;
  EXPECT_EQ(plan({}, seen), "want 0, probe, probe later");
  seen.probe_ok = true;
  EXPECT_EQ(plan({}, seen), "want 0, write 0, probe");
}

TEST(ScaleToZero, UnlimitedBurstCapacityNeedsNoProbe) {
  ScalingSpec spec;
  spec.decider.target_burst_capacity = -1;
  ScalerView seen = view(Activity::inactive, seconds{31}, 0, 1);
  seen.probe_ok.reset();

  EXPECT_EQ(plan(spec, seen), "want 0, write 0");
}

TEST(ScaleToZero, LongProxiedTrafficNeedsNoFurtherGrace) {
  ScalerView seen = view(Activity::inactive, seconds{1}, 0, 1);
  EXPECT_EQ(plan({}, seen), "want 0, probe, again in 30s (grace)");
  seen.proxy_for = seconds{12};
  EXPECT_EQ(plan({}, seen), "want 0, probe, again in 18s (grace)");
  seen.proxy_for = seconds{30};
  EXPECT_EQ(plan({}, seen), "want 0, write 0, probe");
}

TEST(ScaleToZero, RetentionKeepsTheLastPodOfAReachableRevision) {
  ScalingSpec spec;
  spec.zero.retention = seconds{100};
  EXPECT_EQ(plan(spec, view(Activity::inactive, seconds{40}, 0, 1)),
            "want 0, probe, again in 1m (retention)");
  EXPECT_EQ(plan(spec, view(Activity::inactive, seconds{100}, 0, 1)), "want 0, write 0, probe");

  spec.decider.reachable = false;
  EXPECT_EQ(plan(spec, view(Activity::inactive, seconds{40}, 0, 1)), "want 0, write 0, probe");
  EXPECT_EQ(plan(spec, view(Activity::inactive, seconds{10}, 0, 1)),
            "want 0, probe, again in 30s (grace)");
}

TEST(ScaleToZero, ActivatingWaitsForTheDeadlineAndItsBuffer) {
  EXPECT_EQ(plan({}, view(Activity::activating, seconds{300}, 0, 1)), "want -1, again in 10m30s");
  EXPECT_EQ(plan({}, view(Activity::activating, seconds{630}, 0, 1)), "want -1, again in 10m30s");
  EXPECT_EQ(plan({}, view(Activity::activating, seconds{630} + milliseconds{1}, 0, 1)),
            "want 0, write 0");
  EXPECT_EQ(plan({}, view(Activity::activating, seconds{631}, -1, 1)), "want 0, write 0");
}

TEST(ScaleToZero, LongestDeadlineIsNeverReached) {
  ScalingSpec spec;
  spec.zero.progress_deadline = Duration::max();

  EXPECT_EQ(plan_scale(spec, view(Activity::activating, seconds{1'000'000'000}, 0, 1)).want, -1);
}

TEST(ScaleToZero, SwitchedOffKeepsOne) {
  ScalingSpec spec;
  spec.zero.enabled = false;

  EXPECT_EQ(plan(spec, view(Activity::active, seconds{99}, 0, 2)),
            "want 1, write 1 (scale_to_zero_off)");
}

TEST(ScaleToZero, InitialScaleHoldsUntilItWasReached) {
  ScalingSpec spec;
  spec.decider.initial_scale = 5;
  ScalerView seen = view(Activity::activating, seconds{1}, 1, 5);
  seen.initialized = false;
  EXPECT_EQ(plan(spec, seen), "want 5 (initial_scale)");

  seen.initialized = true;
  EXPECT_EQ(plan(spec, seen), "want 1, write 1");

  seen.initialized = false;
  spec.decider.reachable = false;
  EXPECT_EQ(plan(spec, seen), "want 1, write 1");
}

TEST(ScaleToZero, BoundsComeFirst) {
  ScalingSpec spec;
  spec.bounds = {.min = 2, .max = 4};

  EXPECT_EQ(plan(spec, view(Activity::active, seconds{99}, 0, 3)), "want 2, write 2 (min_scale)");
  EXPECT_EQ(plan(spec, view(Activity::active, seconds{99}, 9, 3)), "want 4, write 4 (max_scale)");
  EXPECT_EQ(plan(spec, view(Activity::active, seconds{99}, 3, 3)), "want 3");
}

TEST(ScaleToZero, UnreachableRevisionIsNotHeldAtItsInitialScale) {
  ScalingSpec spec;
  spec.decider.initial_scale = 2;
  spec.decider.reachable = false;
  ScalerView seen = view(Activity::inactive, seconds{60}, 0, 2);
  seen.initialized = false;

  EXPECT_EQ(plan(spec, seen), "want 0, write 0, probe");
}

// "active Queued, threshold 1"; the state in brackets when it is not touched.
std::string next(const ScalingSpec& spec, const ActivityView& seen) {
  const ActivityChange got = next_activity(spec, seen);
  std::string text{name(got.activity)};
  if (!got.marked) text = "(" + text + ")";
  if (!got.reason.empty()) text += " " + std::string{got.reason};
  return text + (got.initialized ? "" : ", never full");
}

TEST(ActiveCondition, FollowsWantAndReady) {
  const ActivityView up{
      .activity = Activity::activating, .initialized = true, .want = 1, .ready = 1};
  EXPECT_EQ(next({}, up), "active");

  ActivityView seen = up;
  seen.ready = 0;
  EXPECT_EQ(next({}, seen), "activating Queued");
  seen.activity = Activity::inactive;
  EXPECT_EQ(next({}, seen), "activating Queued");
  seen.want = -1;
  EXPECT_EQ(next({}, seen), "inactive NoTraffic");
  seen.ready = 1;
  EXPECT_EQ(next({}, seen), "(inactive)");
  seen.activity = Activity::active;
  EXPECT_EQ(next({}, seen), "active");
  seen.want = 0;
  EXPECT_EQ(next({}, seen), "inactive NoTraffic");
  seen.activity = Activity::activating;
  EXPECT_EQ(next({}, seen), "inactive TimedOut");
}

TEST(ActiveCondition, InitialScaleIsTheFirstThreshold) {
  ScalingSpec spec;
  spec.decider.initial_scale = 3;
  ActivityView seen{.activity = Activity::activating, .initialized = false, .want = 3, .ready = 2};

  EXPECT_EQ(next(spec, seen), "activating Queued, never full");
  seen.ready = 3;
  EXPECT_EQ(next(spec, seen), "active");
  seen.service_name_set = false;
  EXPECT_EQ(next(spec, seen), "active, never full");
}

TEST(ActiveCondition, InitialScaleOfZeroIsInactiveAtOnce) {
  ScalingSpec spec;
  spec.decider.initial_scale = 0;

  EXPECT_EQ(next(spec, {.activity = Activity::activating, .initialized = false, .want = -1}),
            "inactive NoTraffic");
}

TEST(ActiveCondition, InitialScaleOfZeroIsReachedOnceTheServiceHasItsName) {
  ScalingSpec spec;
  spec.decider.initial_scale = 0;
  ActivityView seen{.activity = Activity::activating, .initialized = false, .want = 0};

  seen.service_name_set = false;
  EXPECT_EQ(next(spec, seen), "inactive NoTraffic, never full");
  seen.service_name_set = true;
  EXPECT_EQ(next(spec, seen), "inactive NoTraffic");
}

TEST(ActiveCondition, StartThatTookTooLongIsTakenToZeroAndTimedOut) {
  const ScalerView seen = view(Activity::activating, seconds{631}, 0, 1);
  EXPECT_EQ(plan({}, seen), "want 0, write 0");

  EXPECT_EQ(next({}, {.activity = Activity::activating, .want = 0}),
            "inactive TimedOut, never full");
}

TEST(ReportedScale, UnknownNeverHidesAKnownNumber) {
  EXPECT_EQ(reported_scale(-1, 2), 2);
  EXPECT_EQ(reported_scale(-1, 0), 0);
  EXPECT_EQ(reported_scale(-1, -1), -1);
  EXPECT_EQ(reported_scale(0, 2), 0);
}

TEST(RouteMode, ServesOnlyWithPodsAndRoomToSpare) {
  for (const RouteMode present : {RouteMode::serve, RouteMode::proxy}) {
    EXPECT_EQ(route_mode(2, 0, present, 0), RouteMode::serve);
    EXPECT_EQ(route_mode(2, -1, present, 0), RouteMode::proxy);
    EXPECT_EQ(route_mode(0, 5, present, 0), RouteMode::proxy);
    EXPECT_EQ(route_mode(-1, 5, present, 0), RouteMode::proxy);
  }
}

TEST(RouteMode, WithHysteresisActivatorsLeaveLateAndReturnAtOnce) {
  const auto after = [](RouteMode present, std::int32_t excess) {
    return route_mode(2, excess, present, 20);
  };

  EXPECT_EQ(after(RouteMode::proxy, 19), RouteMode::proxy);
  EXPECT_EQ(after(RouteMode::proxy, 20), RouteMode::serve);
  EXPECT_EQ(after(RouteMode::serve, 0), RouteMode::serve);
  EXPECT_EQ(after(RouteMode::serve, -1), RouteMode::proxy);
  EXPECT_EQ(route_mode(0, 99, RouteMode::serve, 20), RouteMode::proxy) << "no pod to serve";
}

}  // namespace
}  // namespace sluice::autoscaler
