#include "autoscaler/core/activators/stat_intake.h"

#include "tests/unit/autoscaler/core/fixtures.h"

#include <gtest/gtest.h>

#include <limits>

namespace sluice::autoscaler {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(StatFlaw, StatsOfABrokenOrHostilePodAreRejected) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const double nan = std::numeric_limits<double>::quiet_NaN();

  EXPECT_EQ(flaw_of({.average_concurrency = nan}), StatFlaw::not_finite);
  EXPECT_EQ(flaw_of({.request_count = kInfinity}), StatFlaw::not_finite);
  EXPECT_EQ(flaw_of({.proxied_request_count = -kInfinity}), StatFlaw::not_finite);
  EXPECT_EQ(flaw_of({.average_concurrency = -0.1}), StatFlaw::negative);
  EXPECT_EQ(flaw_of({.average_concurrency = 1e300}), StatFlaw::too_large);
  EXPECT_EQ(flaw_of({.request_count = 1.1e9}), StatFlaw::too_large);
  EXPECT_EQ(flaw_of({.average_concurrency = 1, .average_proxied_concurrency = 2}),
            StatFlaw::proxied_above);
  EXPECT_EQ(flaw_of({.request_count = 1, .proxied_request_count = 2}), StatFlaw::proxied_above);
}

TEST(StatFlaw, OrdinaryAndBusyStatsAreAccepted) {
  EXPECT_EQ(flaw_of({}), std::nullopt);
  EXPECT_EQ(flaw_of({3.5, 3.5, 100, 100}), std::nullopt);
  EXPECT_EQ(flaw_of({.average_concurrency = 1e9, .request_count = 1e9}), std::nullopt);
}

TEST(StatTime, WithoutAStampItIsTheTimeOfArrival) {
  EXPECT_EQ(time_of(std::nullopt, StatDoor::websocket, kStart), kStart);
  EXPECT_EQ(time_of(std::nullopt, StatDoor::stream, kStart), kStart);
}

TEST(StatTime, StreamAcceptsTimestampsUpToTwoSecondsOld) {
  EXPECT_EQ(time_of(kStart - seconds{2}, StatDoor::stream, kStart), kStart - seconds{2});
  EXPECT_EQ(time_of(kStart - milliseconds{2001}, StatDoor::stream, kStart), kStart);
}

TEST(StatTime, WebSocketStatsKeepTheirSecond) {
  EXPECT_EQ(time_of(kStart - seconds{50}, StatDoor::websocket, kStart), kStart - seconds{50});
}

TEST(StatTime, TimestampsInTheFutureBecomeTheTimeOfArrival) {
  for (const StatDoor door : {StatDoor::stream, StatDoor::websocket}) {
    EXPECT_EQ(time_of(kStart + milliseconds{1}, door, kStart), kStart);
    EXPECT_EQ(time_of(kStart + seconds{9}, door, kStart), kStart);
    EXPECT_EQ(time_of(TimePoint::max(), door, kStart), kStart);
  }
  EXPECT_EQ(time_of(TimePoint::min(), StatDoor::stream, kStart), kStart);
  EXPECT_EQ(time_of(TimePoint::min(), StatDoor::websocket, kStart), TimePoint::min());
}

}  // namespace
}  // namespace sluice::autoscaler
