#include "programs/sluice/engine/service_times.h"

#include <gtest/gtest.h>

namespace sluice::local {
namespace {

using namespace std::chrono_literals;

constexpr TimePoint kNow{1'700'000'000s};

TEST(ServiceTimes, RequestsThatCameAreThoseThatEndedAndThoseThatAreThere) {
  ServiceTimes times;
  times.served(kNow, 20ms, 0ms);
  times.served(kNow, 20ms, 0ms);
  times.refused();

  const auto first = times.take(kNow, 2, 5);
  EXPECT_EQ(first.arrivals, 10);
  EXPECT_EQ(first.held, 2);
  EXPECT_EQ(first.in_flight, 5);

  times.served(kNow, 1ms, 0ms);
  EXPECT_EQ(times.take(kNow + 1s, 0, 6).arrivals, 0) << "one of the seven ended";
  EXPECT_EQ(times.take(kNow + 2s, 0, 0).arrivals, 0) << "what vanished did not come";
}

TEST(ServiceTimes, EachSecondHasItsOwnTimes) {
  ServiceTimes times;
  times.served(kNow, 20ms, 0ms);
  times.served(kNow, 20ms, 0ms);
  times.served(kNow, 3s, 0ms);

  const auto first = times.take(kNow, 0, 0);
  ASSERT_EQ(first.service.size(), 2U);
  EXPECT_GE(first.service[0].first, 20ms);
  EXPECT_LE(first.service[0].first, 23ms);
  EXPECT_EQ(first.service[0].second, 2U);
  EXPECT_GE(first.service[1].first, 3s);
  EXPECT_TRUE(times.take(kNow + 1s, 0, 0).service.empty());
}

TEST(ServiceTimes, WaitsAreOfRequestsThatWaited) {
  ServiceTimes times;
  times.served(kNow, 20ms, 0ms);
  times.served(kNow, 30ms, 2s);

  const auto first = times.take(kNow, 0, 0);
  EXPECT_EQ(first.service_total, 50ms);
  ASSERT_EQ(first.waited.size(), 1U);
  EXPECT_GE(first.waited[0].first, 2s);
  EXPECT_LE(first.waited[0].first, 2300ms);
  EXPECT_EQ(first.waited[0].second, 1U);

  times.served(kNow, 20ms, 0ms);
  const auto second = times.take(kNow + 1s, 0, 0);
  EXPECT_EQ(second.service_total, 20ms);
  EXPECT_TRUE(second.waited.empty());
}

TEST(ServiceTimes, ArrivalsThatEndedInTheirSecondAreKnownByTenths) {
  ServiceTimes times;
  times.served(kNow - 450ms, 20ms, 0ms);
  EXPECT_EQ(times.take(kNow, 0, 0).tenths,
            (std::array<std::uint32_t, 10>{0, 0, 0, 0, 0, 1, 0, 0, 0, 0}));
  times.served(kNow - 1ms, 20ms, 0ms);
  times.served(kNow, 20ms, 0ms);
  times.served(kNow + 250ms, 20ms, 0ms);
  times.served(kNow + 999ms, 20ms, 0ms);

  const auto second = times.take(kNow + 1s, 0, 0);
  EXPECT_EQ(second.tenths, (std::array<std::uint32_t, 10>{1, 0, 1, 0, 0, 0, 0, 0, 0, 1}));
  EXPECT_EQ(times.take(kNow + 2s, 0, 0).tenths, (std::array<std::uint32_t, 10>{}));
}

}  // namespace
}  // namespace sluice::local
