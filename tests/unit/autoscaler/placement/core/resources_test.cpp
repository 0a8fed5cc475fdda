#include "autoscaler/placement/core/resources.h"

#include <gtest/gtest.h>

#include <limits>

namespace sluice::placement {
namespace {

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

TEST(Resources, WhatIsUnboundedStaysUnbounded) {
  const Resources some{.cpu = 250, .memory = 1, .slots = 1};

  EXPECT_EQ((kAnything - some).cpu, kUnbounded);
  EXPECT_EQ((kAnything + some).slots, kUnbounded);
}

TEST(Resources, ANeedOfZeroFitsIntoAnOverdrawnNode) {
  EXPECT_TRUE(fits({.slots = 1}, {.cpu = -500, .memory = -1, .slots = 1}));
  EXPECT_FALSE(fits({.cpu = 1, .slots = 1}, {.cpu = -500, .memory = 0, .slots = 1}));
}

// E66: a million replicas of the largest size there is.
TEST(Resources, ProductsAreBoundedInsteadOfOverflowing) {
  const Resources huge = Resources{kUnbounded - 1, kUnbounded - 1, 1} * 1'000'000;

  EXPECT_EQ(huge.memory, kUnbounded);
  EXPECT_EQ(huge.slots, 1'000'000);
}

TEST(Resources, SharesOfLargeAmountsDoNotOverflow) {
  EXPECT_EQ(share_of(kUnbounded - 1, kUnbounded - 1), kWhole);
  EXPECT_EQ(share_of(kMost, 1), kWholesMax * kWhole);
  EXPECT_EQ(share_of(1, kUnbounded), 0);
  EXPECT_EQ(share_of(0, 0), 0);
  EXPECT_EQ(share_of(1, 0), kWhole);
}

TEST(Resources, ALargerPartNeverHasASmallerShare) {
  const std::int64_t whole = (std::int64_t{1} << 43) + 12'345;
  Ppm last = 0;
  for (std::int64_t part = 1; part < whole * 4; part += part / 7 + 1) {
    const Ppm share = share_of(part, whole);
    ASSERT_GE(share, last) << part;
    ASSERT_GE(share_of(part + 1, whole), share) << part;
    last = share;
  }
}

TEST(Resources, TheDominantShareIsThatOfTheScarcestResource) {
  EXPECT_EQ(dominant_share({.cpu = 500, .memory = 1, .slots = 1},
                           {.cpu = 1000, .memory = 4, .slots = kUnbounded}),
            kWhole / 2);
}

}  // namespace
}  // namespace sluice::placement
