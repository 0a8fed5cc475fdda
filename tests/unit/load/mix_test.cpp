#include "load/core/mix.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace sluice::loadgen {
namespace {

TEST(Mix, KeepsEvenArrivalsWithinOneRequestOfTheirShares) {
  const std::vector<double> shares{9, 1, 0, 2};
  Mix mix{shares, 4, Arrivals::uniform, 1};
  std::vector<double> got(4);

  for (int k = 1; k <= 1200; ++k) {
    ++got[mix.next()];
    for (std::size_t i = 0; i < 4; ++i) EXPECT_LT(std::abs(got[i] - k * shares[i] / 12), 1.0001);
  }
  EXPECT_EQ(got, (std::vector<double>{900, 100, 0, 200}));
}

TEST(Mix, DrawsIndependentArrivalsByTheSeed) {
  const auto drawn = [](std::uint64_t seed) {
    Mix mix{{9, 0, 1}, 3, Arrivals::poisson, seed};
    std::vector<std::size_t> out;
    for (int i = 0; i < 10'000; ++i) out.push_back(mix.next());
    return out;
  };
  const auto count = [](const std::vector<std::size_t>& targets, std::size_t target) {
    return std::count(targets.begin(), targets.end(), target);
  };

  EXPECT_EQ(drawn(7), drawn(7));
  EXPECT_NE(drawn(7), drawn(8));
  EXPECT_NEAR(static_cast<double>(count(drawn(7), 2)), 1000, 100);
  EXPECT_EQ(count(drawn(7), 1), 0);
}

TEST(Mix, TreatsTargetsWithoutSharesAlike) {
  Mix mix{{}, 3, Arrivals::uniform, 1};

  std::vector<int> got(3);
  for (int i = 0; i < 300; ++i) ++got[mix.next()];
  EXPECT_EQ(got, (std::vector<int>{100, 100, 100}));
}

}  // namespace
}  // namespace sluice::loadgen
