#include "activator/core/traffic_share.h"

#include <gtest/gtest.h>

#include <numeric>
#include <string>
#include <vector>

namespace sluice::activator {
namespace {

std::vector<TrafficShare> shares_of(const std::vector<std::int32_t>& weights) {
  std::vector<TrafficShare> shares;
  shares.reserve(weights.size());
  for (const std::int32_t weight : weights) shares.push_back({.weight = weight, .credit = 0});
  return shares;
}

/// Which share gets each of the next `requests`: `0010`.
std::string dealt(std::vector<TrafficShare>& shares, std::size_t requests) {
  std::string places;
  for (std::size_t i = 0; i < requests; ++i) places += std::to_string(next_share(shares));
  return places;
}

TEST(TrafficShare, OfAHundredRequestsInARowEachShareGetsItsPercentage) {
  for (const std::vector<std::int32_t>& weights :
       {std::vector{90, 10}, std::vector{50, 50}, std::vector{1, 99}, std::vector{70, 20, 10},
        std::vector{33, 33, 34}, std::vector{0, 100}, std::vector{1, 2, 3, 94}}) {
    auto shares = shares_of(weights);
    for (int window = 0; window < 3; ++window) {
      std::vector<std::int32_t> counts(weights.size());
      for (int i = 0; i < 100; ++i) ++counts[next_share(shares)];
      EXPECT_EQ(counts, weights);
    }
  }
}

TEST(TrafficShare, AnyHundredInARowAreDividedAlikeWhereverTheyBegin) {
  auto shares = shares_of({70, 20, 10});
  (void)dealt(shares, 37);
  std::vector<std::int32_t> counts(3);
  for (int i = 0; i < 100; ++i) ++counts[next_share(shares)];
  EXPECT_EQ(counts, (std::vector{70, 20, 10}));
}

TEST(TrafficShare, ASmallShareIsSpreadAndNotServedInOneRun) {
  auto shares = shares_of({75, 25});
  EXPECT_EQ(dealt(shares, 8), "00100010");
  auto equal = shares_of({50, 50});
  EXPECT_EQ(dealt(equal, 6), "010101");
}

TEST(TrafficShare, AShareWithoutWeightGetsNothing) {
  auto shares = shares_of({0, 60, 0, 40});
  const std::string places = dealt(shares, 1000);
  EXPECT_EQ(places.find_first_of("02"), std::string::npos);
}

TEST(TrafficShare, WithoutAnyWeightTheFirstGetsTheRequest) {
  auto shares = shares_of({0, 0});
  EXPECT_EQ(dealt(shares, 3), "000");
}

TEST(TrafficShare, WeightsNeedNotAddUpToAHundred) {
  auto shares = shares_of({1, 2});
  EXPECT_EQ(dealt(shares, 6), "101101");
}

}  // namespace
}  // namespace sluice::activator
