#include "programs/sluice/engine/service_times.h"

#include <gtest/gtest.h>

namespace sluice::local {
namespace {

using namespace std::chrono_literals;

constexpr TimePoint kNow{1'700'000'000s};

TEST(ServiceTimes, RequestsThatCameAreThoseThatEndedAndThoseThatAreThere) {
  ServiceTimes times;
  times.served(20ms);
  times.served(20ms);
  times.refused();

  const auto first = times.take(kNow, 2, 5);
  EXPECT_EQ(first.arrivals, 10);
  EXPECT_EQ(first.held, 2);
  EXPECT_EQ(first.in_flight, 5);

  times.served(1ms);
  EXPECT_EQ(times.take(kNow + 1s, 0, 6).arrivals, 0) << "one of the seven ended";
  EXPECT_EQ(times.take(kNow + 2s, 0, 0).arrivals, 0) << "what vanished did not come";
}

TEST(ServiceTimes, EachSecondHasItsOwnTimes) {
  ServiceTimes times;
  times.served(20ms);
  times.served(20ms);
  times.served(3s);

  const auto first = times.take(kNow, 0, 0);
  ASSERT_EQ(first.service.size(), 2U);
  EXPECT_GE(first.service[0].first, 20ms);
  EXPECT_LE(first.service[0].first, 23ms);
  EXPECT_EQ(first.service[0].second, 2U);
  EXPECT_GE(first.service[1].first, 3s);
  EXPECT_TRUE(times.take(kNow + 1s, 0, 0).service.empty());
}

}  // namespace
}  // namespace sluice::local
