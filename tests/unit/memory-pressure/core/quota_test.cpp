#include "memory-pressure/core/quota.h"

#include <gtest/gtest.h>

#include <cmath>

namespace sluice::node_agent {
namespace {

TEST(Quota, OursAreOddWhereTheKubeletsAreWholeMillicores) {
  EXPECT_EQ(signature(25), (CpuQuota{2503, 100'000}));
  EXPECT_EQ(signature(100), (CpuQuota{10'003, 100'000}));
  EXPECT_EQ(signature(1), (CpuQuota{1003, 1'000'000}));
  for (std::int64_t m : {1, 9, 10, 25, 50, 100, 500}) EXPECT_TRUE(is_signature(signature(m))) << m;

  for (std::int64_t m = 10; m <= 4000; ++m) {
    EXPECT_FALSE(is_signature(CpuQuota{m * 100, 100'000})) << m;
  }
  EXPECT_FALSE(is_signature(kUnlimited));
}

TEST(Quota, AllWaysToSayUnlimitedAreOne) {
  EXPECT_EQ(normalised({0, 0}), kUnlimited);
  EXPECT_EQ(normalised({-1, 100'000}), kUnlimited);
  EXPECT_EQ(normalised({-2, 50'000}), kUnlimited);
  EXPECT_EQ(normalised({30'000, 0}), (CpuQuota{30'000, 100'000}));
  EXPECT_TRUE(std::isinf(millicores(kUnlimited)));
}

TEST(Quota, StrictnessComparesRatesNotQuotas) {
  EXPECT_TRUE(is_stricter({1003, 1'000'000}, {1000, 100'000}));
  EXPECT_TRUE(is_stricter({30'000, 100'000}, kUnlimited));
  EXPECT_FALSE(is_stricter(kUnlimited, {30'000, 100'000}));
  EXPECT_FALSE(is_stricter(kUnlimited, kUnlimited));
}

TEST(Quota, SystemdsRoundingUpIsStillOurs) {
  EXPECT_TRUE(is_as_sent({3000, 100'000}, signature(25)));
  EXPECT_TRUE(is_as_sent({10'000, 1'000'000}, signature(1)));
  EXPECT_TRUE(is_as_sent(signature(25), signature(25)));

  EXPECT_FALSE(is_as_sent({2500, 100'000}, signature(25)));  // no driver rounds down
  EXPECT_FALSE(is_as_sent({4000, 100'000}, signature(25)));
  EXPECT_FALSE(is_as_sent(kUnlimited, signature(25)));
  EXPECT_FALSE(is_as_sent(signature(25), CpuQuota{3000, 100'000}));  // a throttle is no release
}

}  // namespace
}  // namespace sluice::node_agent
