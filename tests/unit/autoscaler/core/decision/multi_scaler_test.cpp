#include "autoscaler/core/decision/multi_scaler.h"

#include "tests/unit/autoscaler/core/fixtures.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

namespace sluice::autoscaler {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;

RevisionScalerSpec asleep() {
  RevisionScalerSpec spec;
  spec.scaling.decider.initial_scale = 0;
  spec.replicas = 0;
  return spec;
}

ScalerHandle added(MultiScaler& scalers, const RevisionId& revision, RevisionScalerSpec spec = {}) {
  const auto handle = scalers.add(revision, std::move(spec), 0, kStart);
  EXPECT_TRUE(handle.has_value());
  return *handle;
}

std::optional<ScalerHandle> push(MultiScaler& scalers, const RevisionId& revision,
                                 const Stat& stat) {
  return scalers.push(revision, stat, std::nullopt, StatDoor::stream, kStart);
}

TEST(MultiScaler, RequestForASleepingRevisionTriggersItsEvaluationAtOnce) {
  MultiScaler scalers;
  const ScalerHandle app = added(scalers, kApp, asleep());

  EXPECT_EQ(push(scalers, kApp, {.average_concurrency = 1, .request_count = 1}), app);
  EXPECT_EQ(scalers.scaler(app)->evaluate({.trigger = Trigger::poke}, kStart).want, 1);
  EXPECT_EQ(push(scalers, kApp, {.average_concurrency = 1, .request_count = 1}), std::nullopt);
}

TEST(MultiScaler, StatsForUnknownRevisionsAreDroppedAndCounted) {
  MultiScaler scalers;

  for (int i = 0; i < 100'000; ++i) {
    const RevisionId unknown{"default", "unknown-" + std::to_string(i)};
    EXPECT_EQ(push(scalers, unknown, {.average_concurrency = 1}), std::nullopt);
  }

  EXPECT_EQ(scalers.size(), 0U);
  EXPECT_EQ(scalers.counts(), (IntakeCounts{.unknown = 100'000}));
}

TEST(MultiScaler, FlawedStatsReachNoWindow) {
  MultiScaler scalers;
  const ScalerHandle app = added(scalers, kApp, asleep());
  const double nan = std::numeric_limits<double>::quiet_NaN();

  EXPECT_EQ(push(scalers, kApp, {.average_concurrency = nan}), std::nullopt);
  EXPECT_EQ(push(scalers, kApp, {.average_concurrency = -5}), std::nullopt);
  EXPECT_EQ(push(scalers, kApp, {.average_concurrency = 1e12}), std::nullopt);

  EXPECT_EQ(scalers.counts(), (IntakeCounts{.flawed = 3}));
  EXPECT_FALSE(scalers.scaler(app)->evaluate({}, kStart).record.valid);
}

TEST(MultiScaler, SenderWhoseClockIsAheadDoesNotHideOtherStats) {
  MultiScaler scalers;
  RevisionScalerSpec spec = asleep();
  spec.scaling.decider.stable_window = seconds{6};
  spec.scaling.decider.panic_window = seconds{1};
  const ScalerHandle app = added(scalers, kApp, spec);
  const Stat ahead{.average_concurrency = 10, .request_count = 1};
  const Stat present{.average_concurrency = 40, .request_count = 4};
  ScaleState state;

  for (int second = 0; second <= 20; ++second) {
    const TimePoint now = kStart + seconds{second};
    (void)scalers.push(kApp, ahead, now + seconds{9}, StatDoor::websocket, now);
    (void)scalers.push(kApp, present, now, StatDoor::websocket, now);
    state = scalers.scaler(app)->evaluate({.ready = 1}, now);
  }

  EXPECT_EQ(state.record.stable, 50);
  EXPECT_EQ(state.record.panic, 50);
}

TEST(MultiScaler, LateStatsAreCountedAndThoseFarAheadBelongToThePresent) {
  MultiScaler scalers;
  const ScalerHandle app = added(scalers, kApp, asleep());
  const Stat busy{.average_concurrency = 3, .request_count = 3};

  EXPECT_EQ(scalers.push(kApp, busy, kStart - seconds{60}, StatDoor::websocket, kStart),
            std::nullopt);
  EXPECT_EQ(scalers.push(kApp, busy, TimePoint::min(), StatDoor::websocket, kStart), std::nullopt);
  EXPECT_EQ(scalers.push(kApp, busy, kStart + hours{1}, StatDoor::websocket, kStart), app);

  EXPECT_EQ(scalers.counts(), (IntakeCounts{.recorded = 1, .late = 2, .restamped = 1}));
  EXPECT_EQ(scalers.scaler(app)->evaluate({}, kStart).record.stable, 3);
}

TEST(MultiScaler, RevisionRecreatedUnderItsNameStartsEmpty) {
  MultiScaler scalers;
  const ScalerHandle before = added(scalers, kApp);
  (void)push(scalers, kApp, {.average_concurrency = 500, .request_count = 500});
  scalers.remove(before);
  EXPECT_EQ(scalers.find(kApp), std::nullopt);

  const ScalerHandle after = added(scalers, kApp);

  EXPECT_EQ(scalers.scaler(before), nullptr);
  EXPECT_NE(before, after);
  EXPECT_FALSE(scalers.scaler(after)->evaluate({}, kStart).record.valid);
  scalers.remove(before);  // neither a stale handle nor an empty one removes a scaler
  scalers.remove({});
  EXPECT_EQ(scalers.find(kApp), after);
}

TEST(MultiScaler, OneRevisionIsRegisteredOnce) {
  MultiScaler scalers;
  (void)added(scalers, kApp);

  EXPECT_EQ(scalers.add(kApp, {}, 0, kStart), std::nullopt);
  EXPECT_EQ(scalers.size(), 1U);
}

TEST(MultiScaler, HundredThousandRevisionsAreEachEvaluatedOnceInTwoSeconds) {
  constexpr std::size_t kRevisions = 100'000;
  MultiScaler scalers;
  std::vector<MultiScaler::Due> due;
  scalers.take_due(kStart, due);
  for (std::size_t i = 0; i < kRevisions; ++i) {
    (void)added(scalers, {"space-" + std::to_string(i % 7), "app-" + std::to_string(i)}, asleep());
  }
  std::size_t evaluated = 0;
  std::size_t most = 0;

  for (milliseconds at{10}; at <= seconds{2}; at += milliseconds{10}) {
    scalers.take_due(kStart + at, due);
    most = std::max(most, due.size());
    for (const MultiScaler::Due& one : due) {
      if (!one.evaluate) continue;
      ++evaluated;
      EXPECT_EQ(scalers.scaler(one.handle)->evaluate({}, kStart + at).want, 0);
    }
  }

  EXPECT_EQ(evaluated, kRevisions);
  EXPECT_LT(most, kRevisions / 50);
}

TEST(MultiScaler, RevisionRemovedWhileOthersAreDueIsStale) {
  MultiScaler scalers;
  std::vector<MultiScaler::Due> due;
  scalers.take_due(kStart, due);
  const ScalerHandle gone = added(scalers, kApp);
  (void)added(scalers, {"default", "other-00001"});
  scalers.take_due(kStart + seconds{3}, due);
  ASSERT_EQ(due.size(), 2U);

  scalers.remove(gone);

  int alive = 0;
  for (const MultiScaler::Due& one : due) alive += scalers.scaler(one.handle) != nullptr ? 1 : 0;
  EXPECT_EQ(alive, 1);
  scalers.take_due(kStart + seconds{5}, due);
  EXPECT_EQ(due.size(), 1U);
}

}  // namespace
}  // namespace sluice::autoscaler
