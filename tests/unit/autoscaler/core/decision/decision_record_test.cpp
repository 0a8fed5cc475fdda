#include "autoscaler/core/decision/decision_record.h"

#include <gtest/gtest.h>

namespace sluice::autoscaler {
namespace {

using std::chrono::seconds;

DecisionRecord calm(double stable, std::int32_t wanted) {
  DecisionRecord record;
  record.time = TimePoint{seconds{1'700'000'012}};
  record.valid = true;
  record.stable = stable;
  record.panic = stable;
  record.target = 7;
  record.total = 10;
  record.ready = 1;
  record.wanted_stable = wanted;
  record.wanted_panic = wanted;
  record.up_limit = 1000;
  record.desired = wanted;
  record.bounded = wanted;
  record.granted = wanted;
  record.stable_window = seconds{60};
  return record;
}

DecisionRecord ruled(DecisionRecord record, Bound bound) {
  record.decider_bound = bound;
  record.bound_by = bound;
  return record;
}

TEST(Why, ShowsTheDivision) {
  EXPECT_EQ(why(calm(21, 3)), "ceil(21.0 / 7.0) = 3");
}

TEST(Why, AnAbsurdLoadIsShort) {
  EXPECT_EQ(why(calm(1e300, 3)), "ceil(1e+300 / 7.0) = 3");
}

TEST(Why, NamesPanicAndItsBreach) {
  DecisionRecord record = calm(14.1, 3);
  record.mode = Mode::panic;
  record.panic = 46;
  record.wanted_panic = 7;
  record.desired = record.bounded = record.granted = 7;
  record.breach = true;

  EXPECT_EQ(why(record), "panic: ceil(46.0 / 7.0) = 7, since 7 / 1 >= 2");
}

TEST(Why, PanicDecidedByTheStableWindowNamesIt) {
  DecisionRecord record = calm(46, 7);
  record.mode = Mode::panic;
  record.wanted_panic = 3;

  EXPECT_EQ(why(record), "panic: ceil(46.0 / 7.0) = 7");
}

TEST(Why, ShowsHowLongPanicHolds) {
  DecisionRecord record = ruled(calm(14.1, 3), Bound::panic_hold);
  record.mode = Mode::panic;
  record.desired = record.bounded = record.granted = 7;
  record.panic_entered = record.time - seconds{12};

  EXPECT_EQ(why(record), "held at 7 by panic for 00:12");
}

TEST(Why, NamesTheRuleOfTheDecider) {
  DecisionRecord held = ruled(calm(21, 3), Bound::scale_down_delay);
  held.desired = 4;
  EXPECT_EQ(why(held), "ceil(21.0 / 7.0) = 3; 4 held by scale-down-delay");

  DecisionRecord up = ruled(calm(210, 30), Bound::scale_up_rate);
  up.up_limit = 10;
  EXPECT_EQ(why(up), "ceil(210.0 / 7.0) = 30; at most 10 by max-scale-up-rate");

  DecisionRecord down = ruled(calm(7, 1), Bound::scale_down_rate);
  down.down_limit = 4;
  EXPECT_EQ(why(down), "ceil(7.0 / 7.0) = 1; at least 4 by max-scale-down-rate");

  DecisionRecord waking = ruled(calm(1, 1), Bound::activation_scale);
  waking.desired = 3;
  EXPECT_EQ(why(waking), "ceil(1.0 / 7.0) = 1; at least 3 by activation-scale");
}

TEST(Why, NamesTheBounds) {
  DecisionRecord most = calm(84, 12);
  most.bounds.max = 8;
  most.bound_by = Bound::max_scale;
  EXPECT_EQ(why(most), "ceil(84.0 / 7.0) = 12; at most max-scale 8");

  DecisionRecord least = calm(0, 0);
  least.bounds.min = 2;
  least.bound_by = Bound::min_scale;
  EXPECT_EQ(why(least), "no requests for 60 s; at least min-scale 2");

  DecisionRecord first = calm(1, 1);
  first.initial_scale = 3;
  first.bound_by = Bound::initial_scale;
  EXPECT_EQ(why(first), "ceil(1.0 / 7.0) = 1; at least initial-scale 3");
}

TEST(Why, NoRequestYetIsNotNoneForAWindow) {
  DecisionRecord record = calm(0, 0);
  record.no_request_yet = true;
  EXPECT_EQ(why(record), "no requests yet");
  record.valid = false;
  EXPECT_EQ(why(record), "no requests yet");
}

TEST(Why, ShowsNoLoadBelowZero) {
  EXPECT_EQ(why(calm(-0.0, 1)), "ceil(0.0 / 7.0) = 1");
  EXPECT_EQ(why(calm(-1e-17, 1)), "ceil(0.0 / 7.0) = 1");
}

TEST(Why, ShowsTheStepsToZero) {
  DecisionRecord record = calm(0, 0);
  EXPECT_EQ(why(record), "no requests for 60 s");

  record.bounded = 1;
  record.hold_left = seconds{12};
  record.bound_by = Bound::stable_window;
  EXPECT_EQ(why(record), "no requests for 60 s; 1 kept for 00:12 by the stable window");
  record.bound_by = Bound::retention;
  EXPECT_EQ(why(record), "no requests for 60 s; 1 kept for 00:12 by pod retention");
  record.bound_by = Bound::grace;
  EXPECT_EQ(why(record), "no requests for 60 s; 1 kept for 00:12 by the grace period");
  record.bound_by = Bound::scale_to_zero_off;
  EXPECT_EQ(why(record), "no requests for 60 s; 1 kept, scale to zero is off");
  record.bound_by = Bound::stable_window;
  record.hold_left.reset();
  EXPECT_EQ(why(record), "no requests for 60 s; 1 kept until ready");
}

TEST(Why, WithoutDataShowsTheKeptReplicas) {
  DecisionRecord record = calm(0, 0);
  record.valid = false;
  record.bound_by = Bound::no_data;
  record.desired = -1;
  record.bounded = record.granted = 1;
  EXPECT_EQ(why(record), "no data yet; 1 kept");

  record.desired = 4;
  record.bounded = record.granted = 4;
  record.metrics_missing = true;
  EXPECT_EQ(why(record), "replicas report no metrics; 4 kept");

  record.desired = record.bounded = record.granted = 0;
  EXPECT_EQ(why(record), "no requests for 60 s");
}

TEST(Why, ShortageOverridesOtherBounds) {
  DecisionRecord record = calm(84, 12);
  limit_by_capacity(record, 5, "no memory: 212 MiB free, needs 256 MiB");

  EXPECT_EQ(record.bound_by, Bound::capacity);
  EXPECT_EQ(why(record), "ceil(84.0 / 7.0) = 12; no memory: 212 MiB free, needs 256 MiB");
}

TEST(Why, EnoughCapacityChangesNothing) {
  DecisionRecord record = calm(21, 3);
  limit_by_capacity(record, 3, "");

  EXPECT_EQ(record.bound_by, Bound::none);
}

TEST(Why, TinyTargetsKeepTheirDigits) {
  DecisionRecord record = calm(0.05, 5);
  record.target = 0.01;

  EXPECT_EQ(why(record), "ceil(0.05 / 0.01) = 5");
}

TEST(DecisionRecord, NamesMatchTheProtocol) {
  EXPECT_EQ(name(Bound::scale_to_zero_off), "scale_to_zero_off");
  EXPECT_EQ(name(Bound::no_data), "no_data");
  EXPECT_EQ(name(Mode::panic), "panic");
  EXPECT_EQ(name(Trigger::poke), "poke");
  EXPECT_EQ(name(RouteMode::serve), "serve");
  EXPECT_EQ(name(ScalingMetric::rps), "rps");
}

}  // namespace
}  // namespace sluice::autoscaler
