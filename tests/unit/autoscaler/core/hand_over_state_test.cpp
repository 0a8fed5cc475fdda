// Goal: a revision that changes hands is scaled as if it had not.
// Method: two scalers hear the same; one of them is taken down and put up again from what it handed
// over, bytes and all, at random moments. Every record must be equal.

#include "autoscaler/core/hand_over_state.h"

#include "autoscaler/core/revision_scaler.h"
#include "common/proto/hand_over_codec.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <string>

namespace sluice::autoscaler {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr TimePoint at(std::int64_t second) {
  return TimePoint{seconds{1'700'000'000 + second}};
}

ScalingSpec spec_of(std::mt19937_64& random) {
  const auto one_of = [&random](auto... values) {
    const std::array all{values...};
    return all[random() % all.size()];
  };
  ScalingSpec spec;
  spec.decider.target_value = one_of(1.0, 7.0, 70.0);
  spec.decider.total_value = spec.decider.target_value / 0.7;
  spec.decider.metric = one_of(ScalingMetric::concurrency, ScalingMetric::rps);
  spec.decider.aggregation = one_of(Aggregation::linear, Aggregation::weighted);
  spec.decider.target_burst_capacity = one_of(-1.0, 0.0, 20.0, 211.0);
  spec.decider.has_scrape_target = spec.decider.target_burst_capacity != -1;
  spec.decider.stable_window = seconds{one_of(6, 60, 90)};
  spec.decider.panic_window = seconds{one_of(1, 6)};
  spec.decider.scale_down_delay = seconds{one_of(0, 0, 30)};
  spec.decider.activation_scale = one_of(0, 3);
  spec.bounds.min = one_of(0, 0, 2);
  spec.zero.retention = seconds{one_of(0, 20)};
  return spec;
}

std::unique_ptr<RevisionScaler> heir(const ScalingSpec& spec, std::int32_t replicas,
                                     std::int32_t ready, TimePoint now) {
  return std::make_unique<RevisionScaler>(
      RevisionScalerSpec{
          .scaling = spec, .revision = "app", .replicas = replicas, .taken_over = true},
      ready, now);
}

proto::HandedScaler over_the_wire(const proto::HandedScaler& handed) {
  const proto::HandedRevision revision{{"shop", "app"}, handed};
  const auto messages = proto::encode_take_requests("pod-1", at(0), {&revision, 1});
  EXPECT_EQ(messages.size(), 1U);
  const auto request = proto::decode_take_request(messages.front());
  EXPECT_TRUE(request.has_value());
  return request->revisions.front().scaler;
}

std::string shown(const ScaleState& state) {
  const DecisionRecord& record = state.record;
  return std::string{name(state.activity)} + " want " + std::to_string(state.want) + " mode " +
         std::string{name(record.mode)} + " stable " + std::to_string(record.stable) + " panic " +
         std::to_string(record.panic) + " ebc " + std::to_string(record.excess_burst_capacity) +
         " desired " + std::to_string(record.desired) + " by " +
         std::string{name(record.bound_by)} + (state.changed ? " changed" : "") + ": " +
         why(record);
}

/// Load that comes, goes, and is sometimes not told of.
struct Weather {
  double load = 0;
  bool muted = false;

  void turn(std::mt19937_64& random) {
    if (random() % 20 == 0) load = static_cast<double>(random() % 400) / 7;
    if (random() % 40 == 0) load = 0;
    muted = random() % 30 == 0;
  }
};

void play(std::uint64_t seed) {
  std::mt19937_64 random{seed};
  const ScalingSpec spec = spec_of(random);
  const auto first = heir(spec, 2, 2, at(0));
  auto second = heir(spec, 2, 2, at(0));
  Weather weather;
  int ready = 2;
  for (std::int64_t now = 1; now < 900; ++now) {
    weather.turn(random);
    if (random() % 3 == 0) ready += ready < first->want() ? 1 : ready > first->want() ? -1 : 0;
    if (!weather.muted) {
      const Stat stat{.average_concurrency = weather.load, .request_count = weather.load * 3};
      EXPECT_EQ(first->push(stat, at(now)), second->push(stat, at(now)));
      if (ready > 0) {
        first->scraped(stat, at(now));
        second->scraped(stat, at(now));
      }
    }
    if (now % 2 == 0) {
      const ScaleInputs inputs{.ready = ready, .activator_connected = random() % 50 != 0};
      const ScaleState expected = first->evaluate(inputs, at(now));
      const ScaleState got = second->evaluate(inputs, at(now));
      ASSERT_EQ(shown(got), shown(expected)) << "seed " << seed << " second " << now;
    }
    if (random() % 25 == 0) {
      const proto::HandedScaler handed = over_the_wire(second->handed());
      auto next = heir(spec, second->want(), ready, at(now));
      ASSERT_TRUE(next->take_over(handed, at(now)));
      second = std::move(next);
      ASSERT_EQ(second->handed(), handed);
    }
  }
}

TEST(HandOverState, AScalerThatChangesHandsDecidesAsIfItHadNot) {
  for (std::uint64_t seed = 1; seed <= 150; ++seed) {
    play(seed);
    if (::testing::Test::HasFatalFailure()) return;
  }
}

/// A scaler that has carried 30 requests by three pods for two minutes.
class HandOverTest : public ::testing::Test {
 protected:
  HandOverTest() {
    spec.decider.target_value = 10;
    old = heir(spec, 3, 3, at(0));
    for (std::int64_t now = 1; now <= 120; ++now) {
      (void)old->push({.average_concurrency = 30}, at(now));
      if (now % 2 == 0) (void)old->evaluate({.ready = 3}, at(now));
    }
  }

  ScalingSpec spec;
  std::unique_ptr<RevisionScaler> old;
};

TEST_F(HandOverTest, WithTheWindowsAnHeirMayLowerAtOnce) {
  const auto next = heir(spec, 9, 9, at(121));
  ASSERT_TRUE(next->take_over(old->handed(), at(121)));

  EXPECT_EQ(next->evaluate({.ready = 9}, at(122)).want, 4) << "half of 9, by the rate";
}

TEST_F(HandOverTest, WithoutThemItHoldsWhatRuns) {
  const auto next = heir(spec, 9, 9, at(121));
  (void)next->push({.average_concurrency = 30}, at(121));

  EXPECT_EQ(next->evaluate({.ready = 9}, at(122)).want, 9);
}

TEST_F(HandOverTest, WhatTheHeirRecordedSinceIsKept) {
  const auto next = heir(spec, 3, 3, at(121));
  (void)next->push({.average_concurrency = 90}, at(121));
  (void)next->push({.average_concurrency = 90}, at(122));
  ASSERT_TRUE(next->take_over(old->handed(), at(122)));

  const double panic = next->evaluate({.ready = 3}, at(122)).record.panic;
  EXPECT_DOUBLE_EQ(panic, (4 * 30 + 2 * 90) / 6.0);
}

TEST_F(HandOverTest, ARiseThatTheHeirDecidedIsNotTakenBack) {
  const auto next = heir(spec, 3, 3, at(121));
  (void)next->push({.average_concurrency = 300}, at(121));
  ASSERT_EQ(next->evaluate({.ready = 3}, at(121)).want, 30);
  ASSERT_TRUE(next->take_over(old->handed(), at(122)));

  EXPECT_EQ(next->evaluate({.ready = 3}, at(122)).want, 30);
}

TEST_F(HandOverTest, AnHeirThatKnowsEnoughItselfTakesNothing) {
  const auto next = heir(spec, 3, 3, at(121));
  for (std::int64_t now = 122; now <= 190; ++now) {
    (void)next->push({.average_concurrency = 10}, at(now));
    if (now % 2 == 0) (void)next->evaluate({.ready = 3}, at(now));
  }

  EXPECT_FALSE(next->take_over(old->handed(), at(190)));
}

TEST_F(HandOverTest, AnHeirWithOtherWindowsBringsTheHistoryToTheirLength) {
  ScalingSpec longer = spec;
  longer.decider.stable_window = seconds{120};
  const auto next = heir(longer, 3, 3, at(121));
  ASSERT_TRUE(next->take_over(old->handed(), at(121)));

  EXPECT_EQ(next->handed().collector.concurrency_stable.window, seconds{120});
  EXPECT_EQ(next->evaluate({.ready = 3}, at(122)).record.panic, 30);
}

TEST_F(HandOverTest, AClockThatIsMinutesOffChangesNothing) {
  for (const Duration off : {seconds{180}, -seconds{180}, seconds{7}}) {
    const TimePoint now = at(121) + off;
    const auto by = skew_of(at(121), now);
    ASSERT_TRUE(by.has_value());
    proto::HandedScaler handed = old->handed();
    ASSERT_TRUE(bring_to_our_clock(handed, *by, now));
    const auto next = heir(spec, 3, 3, now);
    ASSERT_TRUE(next->take_over(handed, now));
    (void)next->push({.average_concurrency = 30}, now + seconds{1});

    const ScaleState state = next->evaluate({.ready = 3}, now + seconds{1});
    EXPECT_EQ(state.want, 3);
    EXPECT_NEAR(state.record.stable, 30, 1);
  }
}

proto::TakeRequest request_of(std::vector<std::string> names, TimePoint sent) {
  proto::TakeRequest request{.autoscaler = "pod-1", .sent = sent};
  for (std::string& name : names) {
    proto::HandedRevision handed{{"shop", std::move(name)}, {}};
    handed.scaler.activity_since = at(0);
    handed.scaler.attention.evaluated = at(0);
    request.revisions.push_back(std::move(handed));
  }
  return request;
}

bool is_ours(const RevisionId& revision) {
  return revision.name != "other";
}

TEST(HandOverInbox, KeepsWhatIsOursUntilItIsFetched) {
  HandOverInbox inbox;
  const auto accepted = inbox.accept(request_of({"app", "other"}, at(1)), is_ours, at(1));

  EXPECT_EQ(accepted.reply, (proto::TakeReply{.taken = 1, .left = 1}));
  EXPECT_EQ(accepted.revisions, (std::vector<RevisionId>{{"shop", "app"}}));
  EXPECT_TRUE(inbox.fetch({"shop", "app"}, at(2)).has_value());
  EXPECT_FALSE(inbox.fetch({"shop", "app"}, at(2)).has_value());
  EXPECT_FALSE(inbox.fetch({"shop", "other"}, at(2)).has_value());
}

TEST(HandOverInbox, ForgetsWhatNobodyFetches) {
  HandOverInbox inbox;
  (void)inbox.accept(request_of({"app"}, at(1)), is_ours, at(1));

  EXPECT_FALSE(inbox.fetch({"shop", "app"}, at(32)).has_value());
  (void)inbox.accept(request_of({"web"}, at(1)), is_ours, at(1));
  (void)inbox.accept(request_of({}, at(40)), is_ours, at(40));
  EXPECT_EQ(inbox.size(), 0U);
}

TEST(HandOverInbox, TakesNothingFromAClockADayAway) {
  HandOverInbox inbox;
  const auto accepted = inbox.accept(request_of({"app"}, at(90'000)), is_ours, at(0));

  EXPECT_EQ(accepted.reply, (proto::TakeReply{.taken = 0, .left = 1}));
}

TEST(HandOverSkew, LessThanTwoSecondsAreNone) {
  EXPECT_EQ(*skew_of(at(0), at(2) - milliseconds{1}), Duration{0});
  EXPECT_EQ(*skew_of(at(0), at(-2) + milliseconds{1}), Duration{0});
}

TEST(HandOverSkew, MoreAreMovedByAnEvenNumberOfSeconds) {
  EXPECT_EQ(*skew_of(at(0), at(3) + milliseconds{900}), seconds{2});
  EXPECT_EQ(*skew_of(at(0), at(-5)), -seconds{4});
}

TEST(HandOverSkew, BeyondADayNothingIsBelieved) {
  EXPECT_FALSE(skew_of(at(0), at(86'401)));
}

TEST(HandOverSkew, TimesInTheFutureBecomeNow) {
  proto::HandedScaler scaler;
  scaler.activity_since = at(3);
  scaler.decider.panic_since = at(4);
  ASSERT_TRUE(bring_to_our_clock(scaler, Duration{0}, at(0)));

  EXPECT_EQ(scaler.activity_since, at(0));
  EXPECT_EQ(scaler.decider.panic_since, at(0));
}

TEST(HandOverSkew, AWindowFarAheadIsOfNoUse) {
  proto::HandedScaler scaler;
  scaler.activity_since = at(0);
  scaler.collector.rps_stable.last = 1'700'000'060;

  EXPECT_FALSE(bring_to_our_clock(scaler, Duration{0}, at(0)));
}

}  // namespace
}  // namespace sluice::autoscaler
