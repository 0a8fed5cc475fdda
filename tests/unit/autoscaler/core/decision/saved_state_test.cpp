// Goal: a scaler that is restored decides as the one that was saved would have.
// Method: two scalers get the same; one of them is replaced at random moments by another that
// restores what it saved. Every record must be equal.

#include "autoscaler/core/decision/saved_state.h"

#include "autoscaler/core/decision/revision_scaler.h"
#include "tests/unit/autoscaler/core/drawn_spec.h"
#include "tests/unit/autoscaler/core/fixtures.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <string>

namespace sluice::autoscaler {
namespace {

using std::chrono::seconds;

std::unique_ptr<RevisionScaler> successor(const ScalingSpec& spec, std::int32_t replicas,
                                          std::int32_t ready, TimePoint now) {
  return std::make_unique<RevisionScaler>(
      RevisionScalerSpec{
          .scaling = spec, .revision = "app", .replicas = replicas, .taken_over = true},
      ready, now);
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
  const ScalingSpec spec = drawn_spec(random);
  const auto first = successor(spec, 2, 2, at(0));
  auto second = successor(spec, 2, 2, at(0));
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
      const SavedScaler saved = second->saved();
      auto next = successor(spec, second->want(), ready, at(now));
      ASSERT_TRUE(next->restore(saved, at(now)));
      second = std::move(next);
      ASSERT_EQ(second->saved(), saved);
    }
  }
}

TEST(SavedState, AScalerThatIsRestoredDecidesAsTheOneThatWasSaved) {
  for (std::uint64_t seed = 1; seed <= 150; ++seed) {
    play(seed);
    if (::testing::Test::HasFatalFailure()) return;
  }
}

/// A scaler that has carried 30 requests by three pods for two minutes.
class SavedStateTest : public ::testing::Test {
 protected:
  SavedStateTest() {
    spec.decider.target_value = 10;
    old = successor(spec, 3, 3, at(0));
    for (std::int64_t now = 1; now <= 120; ++now) {
      (void)old->push({.average_concurrency = 30}, at(now));
      if (now % 2 == 0) (void)old->evaluate({.ready = 3}, at(now));
    }
  }

  ScalingSpec spec;
  std::unique_ptr<RevisionScaler> old;
};

TEST_F(SavedStateTest, RestoredWindowsAllowLoweringAtOnce) {
  const auto next = successor(spec, 9, 9, at(121));
  ASSERT_TRUE(next->restore(old->saved(), at(121)));

  EXPECT_EQ(next->evaluate({.ready = 9}, at(122)).want, 4) << "half of 9, by the rate";
}

TEST_F(SavedStateTest, WithoutRestoredWindowsRunningReplicasAreKept) {
  const auto next = successor(spec, 9, 9, at(121));
  (void)next->push({.average_concurrency = 30}, at(121));

  EXPECT_EQ(next->evaluate({.ready = 9}, at(122)).want, 9);
}

TEST_F(SavedStateTest, StatsRecordedSinceTheSaveAreKept) {
  const auto next = successor(spec, 3, 3, at(121));
  (void)next->push({.average_concurrency = 90}, at(121));
  (void)next->push({.average_concurrency = 90}, at(122));
  ASSERT_TRUE(next->restore(old->saved(), at(122)));

  const double panic = next->evaluate({.ready = 3}, at(122)).record.panic;
  EXPECT_DOUBLE_EQ(panic, (4 * 30 + 2 * 90) / 6.0);
}

TEST_F(SavedStateTest, ARiseDecidedSinceTheSaveIsKept) {
  const auto next = successor(spec, 3, 3, at(121));
  (void)next->push({.average_concurrency = 300}, at(121));
  ASSERT_EQ(next->evaluate({.ready = 3}, at(121)).want, 30);
  ASSERT_TRUE(next->restore(old->saved(), at(122)));

  EXPECT_EQ(next->evaluate({.ready = 3}, at(122)).want, 30);
}

TEST_F(SavedStateTest, AScalerWithAWindowOfItsOwnRestoresNothing) {
  const auto next = successor(spec, 3, 3, at(121));
  for (std::int64_t now = 122; now <= 190; ++now) {
    (void)next->push({.average_concurrency = 10}, at(now));
    if (now % 2 == 0) (void)next->evaluate({.ready = 3}, at(now));
  }

  EXPECT_FALSE(next->restore(old->saved(), at(190)));
}

TEST_F(SavedStateTest, OtherWindowsResizeTheHistory) {
  ScalingSpec longer = spec;
  longer.decider.stable_window = seconds{120};
  const auto next = successor(longer, 3, 3, at(121));
  ASSERT_TRUE(next->restore(old->saved(), at(121)));

  EXPECT_EQ(next->saved().collector.concurrency_stable.window, seconds{120});
  EXPECT_EQ(next->evaluate({.ready = 3}, at(122)).record.panic, 30);
}

}  // namespace
}  // namespace sluice::autoscaler
