#include "autoscaler/core/decision/tick_wheel.h"

#include "common/ring/hash_ring.h"
#include "tests/unit/autoscaler/core/fixtures.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>

namespace sluice::autoscaler {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;

TickWheel wheel_of(std::uint32_t items) {
  TickWheel wheel;
  for (std::uint32_t item = 0; item < items; ++item) {
    wheel.add(item, ring::hash_of("default/app-" + std::to_string(item)));
  }
  std::vector<TickWheel::Visit> ignored;
  wheel.take_due(kStart, ignored);
  return wheel;
}

std::vector<TickWheel::Visit> due(TickWheel& wheel, TimePoint now) {
  std::vector<TickWheel::Visit> visits;
  wheel.take_due(now, visits);
  return visits;
}

TEST(TickWheel, VisitsEverySecondAndTicksEveryOther) {
  TickWheel wheel = wheel_of(500);
  std::map<std::uint32_t, std::string> rhythm;

  for (milliseconds at{10}; at <= seconds{4}; at += milliseconds{10}) {
    for (const auto& visit : due(wheel, kStart + at)) {
      rhythm[visit.item] += visit.tick ? 'T' : 'v';
    }
  }

  ASSERT_EQ(rhythm.size(), 500U);
  for (const auto& [item, beats] : rhythm) {
    EXPECT_TRUE(beats == "TvTv" || beats == "vTvT") << item << " " << beats;
  }
}

TEST(TickWheel, SpreadsTenThousandOverTheTwoSeconds) {
  TickWheel wheel = wheel_of(10'000);
  std::size_t most = 0;
  std::size_t ticks = 0;

  for (milliseconds at{10}; at <= seconds{2}; at += milliseconds{10}) {
    const auto visits = due(wheel, kStart + at);
    most = std::max(most, visits.size());
    ticks += static_cast<std::size_t>(
        std::count_if(visits.begin(), visits.end(), [](const auto& visit) { return visit.tick; }));
  }

  EXPECT_EQ(ticks, 10'000U);
  EXPECT_LT(most, 200U);  // 100 on average
}

TEST(TickWheel, LateCallerGetsEachItemOnce) {
  TickWheel wheel = wheel_of(300);

  const auto visits = due(wheel, kStart + seconds{90});

  EXPECT_EQ(visits.size(), 300U);
  EXPECT_TRUE(std::all_of(visits.begin(), visits.end(), [](const auto& v) { return v.tick; }));
}

TEST(TickWheel, ClockThatJumpsAnHourForwardOrBackMissesNoItem) {
  TickWheel wheel = wheel_of(300);

  EXPECT_EQ(due(wheel, kStart + hours{1}).size(), 300U);
  EXPECT_EQ(due(wheel, kStart).size(), 0U);
  EXPECT_EQ(due(wheel, kStart + seconds{1}).size(), 300U);
}

TEST(TickWheel, RemovedItemIsNotVisitedAndTheNextOnesAre) {
  TickWheel wheel;
  for (const std::uint32_t item : {0U, 1U, 2U}) wheel.add(item, 7);
  wheel.remove(0);
  wheel.add(0, 8);
  wheel.remove(1);

  std::string seen;
  for (const auto& visit : due(wheel, kStart + seconds{5})) seen += std::to_string(visit.item);

  EXPECT_EQ(seen, "");  // the first call only reads the time
  for (const auto& visit : due(wheel, kStart + seconds{6})) seen += std::to_string(visit.item);
  EXPECT_EQ(seen, "20");
}

TEST(TickWheel, NextDueIsTheInstantOfTheNextVisit) {
  TickWheel wheel = wheel_of(0);
  EXPECT_EQ(wheel.next_due(), std::nullopt);

  wheel.add(0, 35);

  EXPECT_EQ(wheel.next_due(), kStart + milliseconds{350});
  EXPECT_TRUE(due(wheel, kStart + milliseconds{349}).empty());
  EXPECT_EQ(due(wheel, kStart + milliseconds{350}).size(), 1U);
  EXPECT_EQ(wheel.next_due(), kStart + milliseconds{1350});
}

}  // namespace
}  // namespace sluice::autoscaler
