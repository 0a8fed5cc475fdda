#include "autoscaler/core/activators/stat_intake.h"

#include <gtest/gtest.h>

#include <limits>

namespace sluice::autoscaler {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr TimePoint kNow{seconds{1'700'000'000}};

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
  EXPECT_EQ(time_of(std::nullopt, StatDoor::websocket, kNow), kNow);
  EXPECT_EQ(time_of(std::nullopt, StatDoor::stream, kNow), kNow);
}

TEST(StatTime, StreamAcceptsTimestampsUpToTwoSecondsOld) {
  EXPECT_EQ(time_of(kNow - seconds{2}, StatDoor::stream, kNow), kNow - seconds{2});
  EXPECT_EQ(time_of(kNow - milliseconds{2001}, StatDoor::stream, kNow), kNow);
}

TEST(StatTime, WebSocketStatsKeepTheirSecond) {
  EXPECT_EQ(time_of(kNow - seconds{50}, StatDoor::websocket, kNow), kNow - seconds{50});
}

TEST(StatTime, TimestampsInTheFutureBecomeTheTimeOfArrival) {
  for (const StatDoor door : {StatDoor::stream, StatDoor::websocket}) {
    EXPECT_EQ(time_of(kNow + milliseconds{1}, door, kNow), kNow);
    EXPECT_EQ(time_of(kNow + seconds{9}, door, kNow), kNow);
    EXPECT_EQ(time_of(TimePoint::max(), door, kNow), kNow);
  }
  EXPECT_EQ(time_of(TimePoint::min(), StatDoor::stream, kNow), kNow);
  EXPECT_EQ(time_of(TimePoint::min(), StatDoor::websocket, kNow), TimePoint::min());
}

}  // namespace
}  // namespace sluice::autoscaler
